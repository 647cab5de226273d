"""The cases for comparing ids, each with a vocabulary and some batches, worst inputs first."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from crayon_hf.parity.inputs.byte_strings import generate_bytes
from crayon_hf.parity.inputs.strings import generate

from . import made_texts
from .sizes import Sizes
from .subjects import FAMILIES, OTHERS

SEED = 8
ALL = 1 << 29
"""A number of ids that no batch exceeds, so that each batch is one partition if memory allows."""
SMALL_PARTITIONS = (1, 2, 3, 7, 64, 1000, 20_000)
SHORT_RUNS = (
    *("a", "A", "aB", "Ba", "7", " ", " \n", "\n", "!", "!\n", "/", "\u00a0", "\u2028"),
    *("中", "中A", "é", "'s", "'lL", "\u0301", "a\u0301", "٣", "🙂", "\x00"),
)
LONG_RUNS = {"spaces": " ", "capitals": "A", "CJK": "中", "digits": "7"}
_LENGTHS = (1, 15, 16, 17, 32, 33, 63, 64, 65, 130, 1023, 1024, 1025, 1500)
_SPECIALS = ("<|endoftext|>", "<|pad|>", "[L]", "[R]", "[B]", "crayon", "<ab", "b>", "<|é日|>")


@dataclass(frozen=True)
class Batch:
    """One batch, with its encoding options, the encoder's options, and the way its texts are given.

    `elements`, `margin` and `lanes` are options of `DeviceEncoder`.
    """

    texts: Sequence[str | bytes]
    special: bool = True
    as_text: bool = False
    elements: int = ALL
    margin: int = 64
    lanes: int = 2
    way: str = "list"
    """"list": texts on the host; "flat": bytes and offsets on the host; "device": bytes and ids on the device."""

    def options(self) -> dict[str, object]:
        """Return all fields by name, except the texts."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "texts"}


@dataclass(frozen=True)
class Case:
    """A vocabulary (`subject`) and a way of encoding (exact or greedy), with a kind and size of batches."""

    kind: str
    subject: str
    greedy: bool = False
    size: int = 0

    is_optional: bool = False
    """Whether the case may be skipped for lack of time, since another case has the same inputs at a smaller size."""

    @property
    def name(self) -> str:
        """The name in reports."""
        size = f", {self.size:,} bytes" if self.size else ""
        return f"{self.kind}{size}: {self.subject}{', greedy' if self.greedy else ''}"


def plan(sizes: Sizes, named: Sequence[str]) -> list[Case]:
    """Return all cases, in the order in which they run. `named` are the vocabularies that are also timed."""
    both = [(family, greedy) for family in FAMILIES for greedy in (False, True)]
    kinds = ["generated strings", "small partitions", "runs", "not UTF-8"]
    cases = [Case(kind, *each) for kind in kinds for each in both]
    cases += [Case(kind, kind, greedy) for kind in OTHERS for greedy in (False, True)]
    for kind in ("generated strings", "texts"):
        cases += [Case(kind, name, greedy) for name in named for greedy in (False, True)]
    cases += [Case("short texts", named[0] if named else FAMILIES[0])]
    cases += [Case("one text", name, size=sizes.text) for name in named or FAMILIES[:1]]
    for size in sizes.runs:
        is_optional = size != sizes.runs[0]
        cases += [Case(f"a run of {what}", *each, size, is_optional) for each in both for what in LONG_RUNS]
    return cases


def batches_of(case: Case, sizes: Sizes) -> Iterator[Batch]:
    """Yield the batches of a case, the same in every process."""
    if case.kind.startswith("a run of "):
        unit = LONG_RUNS[case.kind.removeprefix("a run of ")]
        yield Batch([(unit * (case.size // len(unit.encode()))).encode()], way="flat")
    elif case.kind == "one text":
        text = made_texts.one_text("english", case.size)
        yield Batch([text], way="device")
        yield Batch(["a small one", text, "another"], way="list")
    else:
        yield from _MAKERS[case.kind](sizes)


def strings(count: int, specials: Sequence[str] = ()) -> list[str]:
    """Return `count` generated strings without lone surrogates. Some contain the `specials`."""
    made = (text for _, text in generate(2 * count, SEED, specials=specials))
    return list(islice((text for text in made if not any("\ud800" <= c <= "\udfff" for c in text)), count))


def short_runs(longest: int) -> list[str]:
    """Return runs of one character inside other text. They cross chunks of 64 bytes and sizes where merging changes."""
    runs = [run * count for run in SHORT_RUNS for count in _LENGTHS if count <= longest]
    return [start + run + end for run in runs for start, end in (("", ""), ("x", "?"), ("", "1"))]


def _strings(sizes: Sizes) -> Iterator[Batch]:
    texts = strings(sizes.strings, _SPECIALS[:2])
    yield Batch(texts)
    yield Batch(texts, special=False, as_text=True, elements=20_000, lanes=1)
    yield Batch([text.encode() for text in texts], way="device")


def _small(sizes: Sizes) -> Iterator[Batch]:
    texts = ["", *strings(sizes.few_strings), "", "a" * 700, ""]
    for elements in SMALL_PARTITIONS:
        yield Batch(texts, elements=elements, margin=0 if elements < 1000 else 64, lanes=1 + elements % 3)


def _runs(sizes: Sizes) -> Iterator[Batch]:
    runs = short_runs(sizes.short_run)
    yield Batch(runs)
    yield Batch(["".join(runs)], special=False, way="flat")


def _invalid(sizes: Sizes) -> Iterator[Batch]:
    made = [data for _, data in generate_bytes(max(20, sizes.few_strings // 2), SEED)]
    for i, data in enumerate(made):
        yield Batch([b"fine", data, b"also fine", made[i - 1]], way=("list", "flat", "device")[i % 3])
    yield Batch([b"x" * 5000, b"y" * 63 + "日".encode()[:2], b"\x97"], way="flat")


def _nfc(sizes: Sizes) -> Iterator[Batch]:
    texts = strings(sizes.few_strings)
    texts += [unicodedata.normalize("NFD", text) for text in texts]
    texts += ["e\u0301" * 40, "x" * 63 + "e\u0301", "각" * 30, unicodedata.normalize("NFD", "각" * 30), "plain", "é"]
    yield Batch(texts)
    yield Batch(texts, elements=500, margin=0)


def _added(sizes: Sizes) -> Iterator[Batch]:
    texts = strings(sizes.few_strings, _SPECIALS)
    around = ("", "  ", "x", "\n\t", "<", "é")
    texts += [before + special + after for special in _SPECIALS for before in around for after in around]
    texts += ["".join(_SPECIALS) * 3, "    " * 50, "<ab>" * 50, "no token here"]
    for as_text in (False, True):
        yield Batch(texts, as_text=as_text)
    yield Batch(texts, special=False, elements=300, margin=0, way="device")


def _texts(sizes: Sizes) -> Iterator[Batch]:
    for kind in made_texts.KINDS:
        yield Batch(made_texts.some_documents(kind, sizes.batch))


def _short(sizes: Sizes) -> Iterator[Batch]:
    words = [word for kind in made_texts.KINDS for word in made_texts.some_text(kind, 300_000).decode().split(" ")]
    yield Batch(list(islice(cycle(words), sizes.texts)))


_MAKERS: dict[str, Callable[[Sizes], Iterator[Batch]]] = {
    "generated strings": _strings,
    "small partitions": _small,
    "runs": _runs,
    "not UTF-8": _invalid,
    "NFC": _nfc,
    "added tokens": _added,
    "texts": _texts,
    "short texts": _short,
}

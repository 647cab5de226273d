"""The scanners cut as the references do: every family, both flavors, every instruction set."""

from __future__ import annotations

import random
import sys
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from crayon_hf import _core
from tests.support.reference_impl import KIMI_PATTERN
from tests.support.sampling import sampled

sys.path.insert(0, str(Path(__file__).parent))
twin: Any = import_module("pretokenize_reference")

CPUS = _core.cpu_levels()
SPELLINGS = [
    pytest.param(pattern, flavor, family, id=f"{flavor}-{family}-{number}")
    for flavor in twin.FLAVORS
    for number, (pattern, family) in enumerate(twin.spellings(flavor))
]
# cl100k as tiktoken 0.14 publishes it.
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)


@cache
def texts(seed: int) -> list[str]:
    return list(twin.hostile_texts(1500, seed))


# -- against the references


@pytest.mark.parametrize(("pattern", "flavor", "family"), SPELLINGS)
def test_generated_texts(pattern: str, flavor: str, family: str) -> None:
    difference = twin.first_difference(
        texts(20240601), pattern, flavor, lambda data: twin.agreed_scan(data, family, flavor)
    )
    assert difference is None


@pytest.mark.slow
@pytest.mark.parametrize("flavor", twin.FLAVORS)
@pytest.mark.parametrize("family", twin.FAMILIES)
def test_every_code_point(family: str, flavor: str) -> None:
    """Each character behind a letter, a digit, punctuation and a line break, and before each of them."""
    pattern = _core.canonical_pattern(family)
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    # Far more than a class has no members of their own kind: most of the space is unassigned or ideographs.
    rng = random.Random(5)
    points = points[:0x3100] + rng.sample(points[0x3100:], 20_000)
    batch = ["".join(f"a{c}A1{c}!{c}\n{c} {c}'{c}" for c in points[at : at + 64]) for at in range(0, len(points), 64)]
    assert twin.first_difference(batch, pattern, flavor, lambda d: twin.agreed_scan(d, family, flavor)) is None


@pytest.mark.slow
@pytest.mark.parametrize("flavor", twin.FLAVORS)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_pattern_without_a_scanner_that_both_engines_read_alike(flavor: str, every: bool) -> None:
    assert _core.is_read_alike(KIMI_PATTERN)
    assert not any(_core.is_read_alike(pattern) for pattern, _ in twin.spellings(flavor))
    batch = texts(20240602)
    if every:
        points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        some = points[:0x3100] + random.Random(6).sample(points[0x3100:], 20_000)  # as in test_every_code_point
        batch = [
            beside.join(of[at : at + 500])
            for beside, of in (("a", points), *((beside, some) for beside in ("A", "漢", " ", "1", ".")))
            for at in range(0, len(of), 500)
        ]

    def ends(data: bytes) -> list[int]:
        return [end for _, end in _core._testing.regex_find_all(KIMI_PATTERN, data.decode())]

    assert twin.first_difference(batch, KIMI_PATTERN, flavor, ends) is None


@given(
    st.lists(st.sampled_from("aAé中ǅʰ\u0301'sT\u017f1٣ \t\n\r\x85\u3000\x1c!/.😀\x00ﬆ") | st.characters(), max_size=40)
)
@settings(max_examples=300, deadline=None)
def test_any_text(chars: list[str]) -> None:
    text = "".join(chars).encode("utf-8", "replace").decode()
    for family in twin.FAMILIES:
        ends = twin.agreed_scan(text.encode(), family, "oniguruma")
        assert ends == twin.oniguruma_ends(_core.canonical_pattern(family), text), family


def test_byte_level_has_the_gpt2_pattern() -> None:
    for text in texts(3):
        assert twin.agreed_scan(text.encode(), "gpt2", "oniguruma") == twin.byte_level_ends(text), text


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_published_tiktoken_patterns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pattern of the installed tiktoken is known, and the canonical pattern means the same in `tokenizers`."""
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})  # it would download the ranks
    pattern = getattr(openai_public, name)()["pat_str"]
    family = _core.family_of_pattern(pattern, "rust_regex")
    assert family == {"r50k_base": "gpt2"}.get(name, name.removesuffix("_base"))
    canonical = _core.canonical_pattern(family)
    sample = texts(4)
    assert all(twin.tiktoken_agrees(pattern, sample, [twin.oniguruma_ends(canonical, text) for text in sample]))


@pytest.mark.slow
def test_corpora(shared: Path) -> None:
    for documents in twin.corpus_documents(shared / "corpus"):
        for pattern, flavor, family in (param.values for param in SPELLINGS):
            difference = twin.first_difference(
                documents[:25], pattern, flavor, lambda d, f=family, v=flavor: twin.agreed_scan(d, f, v)
            )
            assert difference is None, (family, flavor)


@pytest.mark.slow
def test_the_comparison_sees_every_kind_of_difference() -> None:
    """Against a harness that would let anything pass."""
    sample = [text for text in texts(6) if len(twin.oniguruma_ends(CL100K_CANONICAL, text)) > 2][:200]
    for text in sample:
        right = twin.oniguruma_ends(CL100K_CANONICAL, text)
        merged = right[:1] + right[2:]
        moved = [right[0] + 1, *right[1:]]
        assert twin.tiktoken_agrees(CL100K, [text], [right]) == [True]
        assert twin.tiktoken_agrees(CL100K, [text], [merged]) == [False]
        if moved[0] < moved[1]:
            assert twin.tiktoken_agrees(CL100K, [text], [moved]) == [False]
        if right[0] > 1:
            assert twin.tiktoken_agrees(CL100K, [text], [[1, *right]]) == [False]
    alike = ("cl100k", "llama3"), ("llama3", "qwen2"), ("llama3", "o200k"), ("o200k", "tekken"), ("gpt2", "llama3")
    for one, other in alike:
        for flavor in twin.FLAVORS:
            pattern = _core.canonical_pattern(other)
            assert twin.first_difference(texts(6), pattern, flavor, lambda d, f=one, v=flavor: twin.scan(d, f, v))


CL100K_CANONICAL = _core.canonical_pattern("cl100k")

# -- what a scanner promises beside the cuts


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("family", twin.FAMILIES)
def test_scanning_goes_on_where_it_stopped(family: str, cpu: str) -> None:
    for text in texts(7)[:400]:
        data = text.encode()
        ends = twin.scan(data, family, "oniguruma", cpu, 100_000)
        for capacity in (1, 2, 3, 63, 64, 65, 100):
            assert twin.scan(data, family, "oniguruma", cpu, capacity) == ends, (capacity, text)


def broken(rng: random.Random, text: str) -> bytes:
    """`text` with bytes overwritten, taken out and put in."""
    data = bytearray(text.encode())
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(3)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randrange(1, 3)]
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 4))
    return bytes(data)


@pytest.mark.parametrize("family", twin.FAMILIES)
def test_invalid_bytes_are_characters_of_no_class(family: str) -> None:
    rng = random.Random(8)
    pattern = _core.canonical_pattern(family)
    samples = [broken(rng, text) for text in texts(9)[:600]] + [rng.randbytes(rng.randrange(200)) for _ in range(400)]
    for data in samples:
        text, sizes = twin.stand_in(data)
        expected = twin.ends_in_bytes(twin.oniguruma_ends(pattern, text), text, sizes)
        for cpu in CPUS:
            assert twin.scan(data, family, "oniguruma", cpu) == expected, data


SCRIPTS = (
    "дом Дом ДОМ",
    "中文字。",
    "あア、ー",
    "한국어 글",
    "हिन्दी",
    "A中AB 中Ab",
    "\u0301a",
    "!!\u0301",
    "don'\u017f中x",
    "ªßÉé",
)
SCRIPTS += ("👨\u200d👩\ufe0f", "“a”—b…", "x\u3000y\xa0z", "١٢٣٤٥", "4䷀5", "𝐀𐐨𠀀", "힣\ud7b0")
BROKEN = (
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xe4\xb8",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xe0\x80\x80",
    b"\xf4\x90\x80\x80",
)


@pytest.mark.parametrize("family", twin.FAMILIES)
def test_seams_of_windows_in_any_script(family: str) -> None:
    """Characters across the 64th byte and across the end of the text, whole and broken."""
    pattern = _core.canonical_pattern(family)
    rng = random.Random(12)
    for script in SCRIPTS:
        for at in (0, 1, 2, 3, *range(52, 67), 127, 128):
            lead = rng.choice(("a", "中", "a ", "!", "ж", " 1"))
            head = (lead * 128).encode()[:at].decode(errors="ignore")
            text = head + script * rng.randrange(1, 5) + rng.choice(("", " ", "a", "'s", "\n"))
            assert twin.agreed_scan(text.encode(), family, "oniguruma") == twin.oniguruma_ends(pattern, text), text
            data = text.encode()
            cut = rng.randrange(len(head.encode()), len(data) + 1)
            for wrong in (data[:cut], data[:cut] + rng.choice(BROKEN) + data[cut:]):
                stand_in, sizes = twin.stand_in(wrong)
                expected = twin.ends_in_bytes(twin.oniguruma_ends(pattern, stand_in), stand_in, sizes)
                assert twin.agreed_scan(wrong, family, "oniguruma") == expected, wrong


@pytest.mark.parametrize("family", twin.FAMILIES)
def test_invalid_bytes_at_each_offset(family: str) -> None:
    pattern = _core.canonical_pattern(family)
    data = "It's дом 中文。Ab 12 é!".encode() * 3
    for at in range(len(data)):
        for wrong in BROKEN:
            text, sizes = twin.stand_in(data[:at] + wrong + data[at:])
            expected = twin.ends_in_bytes(twin.oniguruma_ends(pattern, text), text, sizes)
            assert twin.agreed_scan(data[:at] + wrong + data[at:], family, "oniguruma") == expected, (at, wrong)


@given(
    st.integers(0, 70),
    st.lists(st.sampled_from("aAжЖ中あ가क\u093e\u0301ǅª1٣ \xa0\u3000\n!“。's\u017f/😀") | st.characters(), max_size=60),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(BROKEN)), max_size=2),
)
@settings(max_examples=300, deadline=None)
def test_any_bytes_in_windows(lead: int, chars: list[str], broken_at: list[tuple[int, bytes]]) -> None:
    data = b"a" * lead + "".join(chars).encode("utf-8", "replace")
    for at, wrong in broken_at:
        data = data[:at] + wrong + data[at:]
    text, sizes = twin.stand_in(data)
    for family in twin.FAMILIES:
        expected = twin.ends_in_bytes(twin.oniguruma_ends(_core.canonical_pattern(family), text), text, sizes)
        assert twin.agreed_scan(data, family, "oniguruma") == expected, family


LONG = 1 << 20


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("family", twin.FAMILIES)
@pytest.mark.parametrize(
    ("data", "cuts"),
    [
        (b"a" * LONG, [LONG]),
        ("中".encode() * LONG, [3 * LONG]),
        (b"!" * LONG, [LONG]),
        (b" " * LONG, [LONG]),
        (b"\n" * LONG, [LONG]),
        (b" " * LONG + b"x", [LONG - 1, LONG + 1]),
        (b"x" + b"\t" * LONG + b"!", [1, LONG, LONG + 1, LONG + 2]),
        (b"A" * LONG + b"b", [LONG + 1]),
        ("中".encode() + b"A" * LONG, {"o200k": [3, LONG + 3], "tekken": [3, LONG + 3], "": [LONG + 3]}),
        (b"\n" + b" " * LONG + b"x", {"gpt2": [LONG, LONG + 2], "": [1, LONG, LONG + 2]}),
        (b"x" + b"\n" + b" " * LONG, {"gpt2": [1, LONG + 2], "cl100k": [1, LONG + 2], "": [1, 2, LONG + 2]}),
    ],
    ids=["a", "han", "bang", "blanks", "lines", "blanks-x", "tabs", "capitals", "han-capitals", "indent", "end"],
)
def test_long_pretokens(data: bytes, cuts: Any, family: str, cpu: str) -> None:
    expected = cuts if isinstance(cuts, list) else cuts.get(family, cuts[""])
    assert twin.scan(data, family, "oniguruma", cpu) == expected


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("family", twin.FAMILIES)
@pytest.mark.parametrize(
    "unit", sampled([" \n", "\n ", "'s", "中A", "A中a", "!\n", "/\n", "1 ", "\u0301a", " '", "a\u3000"], 3)
)
def test_long_repetitions(unit: str, family: str, cpu: str) -> None:
    data = (unit * (1 << 18)).encode()
    ends = twin.scan(data, family, "oniguruma", cpu)
    assert ends[-1] == len(data)
    assert all(a < b for a, b in pairwise(ends))


@pytest.mark.parametrize("cpu", CPUS)
def test_whole_and_nothing(cpu: str) -> None:
    assert _core._testing.pretokenize(b"a b\nc", "whole", "oniguruma", cpu) == [5]
    for family in ("whole", *twin.FAMILIES):
        assert _core._testing.pretokenize(b"", family, "oniguruma", cpu) == []


# -- names


def test_families_are_found_by_their_patterns() -> None:
    for flavor in twin.FLAVORS:
        assert {family for _, family in twin.spellings(flavor)} == set(twin.FAMILIES)
        for family in twin.FAMILIES:
            assert _core.family_of_pattern(_core.canonical_pattern(family), flavor) == family
    assert _core.canonical_pattern("whole") == ""


def test_a_pattern_that_means_something_else_is_not_known() -> None:
    # To Oniguruma `{1,3}+` repeats a repeat: numbers of any length are one piece.
    assert _core.family_of_pattern(CL100K, "rust_regex") == "cl100k"
    assert _core.family_of_pattern(CL100K, "oniguruma") is None
    assert twin.oniguruma_ends(CL100K, "1234567") == [7]
    for flavor in twin.FLAVORS:
        assert _core.family_of_pattern("", flavor) is None
        for pattern, _ in twin.spellings(flavor):
            for other in (pattern + " ", pattern[:-1], "|" + pattern, pattern.replace(r"\p{N}", r"\d", 1)):
                assert _core.family_of_pattern(other, flavor) is None


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="gpt3"):
        _core._testing.pretokenize(b"x", "gpt3")
    with pytest.raises(ValueError, match="pcre"):
        _core._testing.pretokenize(b"x", "gpt2", "pcre")
    with pytest.raises(ValueError, match="avx9"):
        _core._testing.pretokenize(b"x", "gpt2", "oniguruma", "avx9")


def test_the_environment_chooses_the_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CPUS[0] == "scalar"
    for cpu in CPUS:
        monkeypatch.setenv("CRAYON_CPU", cpu)
        assert _core._testing.pretokenize(b"a b", "gpt2") == [1, 3]
    monkeypatch.setenv("CRAYON_CPU", "mmx")
    with pytest.raises(ValueError, match=r"CRAYON_CPU.*mmx.*scalar"):
        _core._testing.pretokenize(b"a b", "gpt2")

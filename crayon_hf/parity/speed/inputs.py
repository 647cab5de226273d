"""The texts that a benchmark encodes, cut into documents and written to files before measuring begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path

from ..inputs.long_pretokens import long_pretokens
from ..inputs.texts import CORPUS, DOCUMENT_BYTES, documents, find_text, read_text
from .words import text_of_new_words

__all__ = ["DOCUMENTS_OF_A_CALL", "HOSTILE", "Read", "Text", "make_texts", "sources_of", "text_name"]

HOSTILE = ("one letter", "spaces", "random letters", "prose without spaces", "CJK", "Latin-1 noise")
PROSE = "prose"
LINE = 60
"""The most characters of a document that is one line."""
DOCUMENTS_OF_A_CALL = 16_000_000 // DOCUMENT_BYTES
"""The documents that a call gets of a text of the scenario ``scale``."""

Read = Callable[[int | None], bytes]
"""Reads at most this number of bytes of a text; None for no limit."""


@dataclass(frozen=True)
class Text:
    """Documents in a file, each a line of JSON."""

    scenario: str
    name: str
    path: str
    bytes: int
    documents: int


def text_name(spec: str) -> str:
    """Return the name of a text: its name in the shared corpus, and for other texts the name of its file."""
    return spec if spec in CORPUS else find_text(spec).name


def sources_of(specs: Sequence[str]) -> dict[str, Read]:
    """Return the names of texts, and the functions that read them. `specs` are names or paths."""
    return {text_name(spec): partial(read_text, find_text(spec)) for spec in specs}


def make_texts(
    sources: Mapping[str, Read], directory: str, size: int, scenarios: Sequence[str], scale: Sequence[int] = ()
) -> list[Text]:
    """Write the texts that the scenarios need into a directory. Raise ValueError for an empty text.

    `size` is the most bytes of each text of the first passes. The sizes of other texts follow from it. `scale` has the
    sizes of the texts of the scenario of this name.
    """
    texts: list[Text] = []
    for scenario, name, found in _made(sources, size, scenarios, scale):
        path = Path(directory, f"{len(texts)}.jsonl")
        written = count = 0
        with path.open("w", encoding="utf-8", newline="\n") as out:
            for document in found:
                out.write(json.dumps(document, ensure_ascii=False) + "\n")
                written, count = written + len(document.encode()), count + 1
        if not count:
            raise ValueError(f"{name} is empty, so it cannot be measured")
        texts.append(Text(scenario, name, str(path), written, count))
    return texts


def _made(
    sources: Mapping[str, Read], size: int, scenarios: Sequence[str], scale: Sequence[int]
) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Yield the scenario, the name and the documents of each text. The texts of a corpus come first."""
    for name, read in sources.items():
        if not scale:
            yield "first", name, documents(read(size))
        for each in scale:
            data = read(each)
            yield "scale", f"{name}, {len(data) / 1e6:.3g} MB", documents(data)
    for name, read in sources.items() if "first-large" in scenarios else ():
        data = read(8 * size)
        yield "first-large", f"{name}, {len(data) / 1e6:.0f} MB", documents(data)
    read = next(iter(sources.values()))
    if "new-words" in scenarios:
        yield "new-words", "new words", documents(text_of_new_words(size // 2, seed=1))
    if "decode" in scenarios:
        yield "decode", "decoded", documents(read(size // 2))
    if "short" in scenarios:
        yield "short", "short strings", _short(read(size).decode())
    if "hostile" in scenarios:
        prose = read(size // 2).decode()
        texts = {**long_pretokens(prose, size // 2), PROSE: prose}
        yield from (("hostile", name, [texts[name]]) for name in (PROSE, *HOSTILE))
    if "lines" in scenarios:
        yield "lines", "lines", _lines(sources.values(), size // 2)
    if "memory" in scenarios:
        yield "memory", "memory", documents(text_of_new_words(40 * size, seed=2))


def _lines(sources: Iterable[Read], count: int) -> list[str]:
    """Return lines of all texts in turn. Long lines are cut. If the texts have too few, lines are repeated."""
    lines = [_cut_lines(read(count * LINE).decode()) for read in sources]
    mixed = (line for some in zip_longest(*lines) for line in some if line is not None)
    found = list(islice(mixed, count))
    return (found * (count // max(1, len(found)) + 1))[:count]


def _cut_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from (line[at : at + LINE] for at in range(0, len(line), LINE))


def _short(text: str) -> list[str]:
    """Return up to a hundred beginnings of lines, of 20 to 60 characters."""
    lines = [line.strip()[:LINE] for line in text.split("\n") if len(line.strip()) >= 20]
    return lines[:: max(1, len(lines) // 100)][:100] or [text[:LINE]]

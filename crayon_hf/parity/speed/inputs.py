"""The texts that a benchmark encodes, cut into documents and written to files before measuring begins."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ..inputs.long_pretokens import long_pretokens
from ..inputs.texts import CORPUS, DOCUMENT_BYTES, documents, find_text, read_text
from .words import write_new_words

__all__ = ["HOSTILE", "Inputs", "Sizes", "Text", "make_inputs", "text_name"]

HOSTILE = ("one letter", "spaces", "random letters", "prose without spaces", "CJK", "Latin-1 noise")
PROSE = "prose"
LINE = 60
"""The most characters of a document that is one line."""


@dataclass(frozen=True)
class Sizes:
    """The size of each input of a benchmark, in bytes unless noted."""

    text: int | None = 2_000_000
    """The most bytes of each text; None for no limit."""
    new_words: int = 1_000_000
    lines: int = 1_000_000
    """The number of documents of one line."""
    compared_lines: int = 100_000
    """The number of lines whose ids are compared."""
    short: int = 100
    decode: int = 1_000_000
    """The bytes of text whose ids are decoded."""
    hostile: int = 1_000_000
    memory: int = 80_000_000
    large: int = 16_000_000
    """The most bytes of each large text."""


@dataclass(frozen=True)
class Text:
    """Documents in a file. A file ``.json`` is a list of them; any other file is a text that the process cuts."""

    name: str
    path: str
    bytes: int
    documents: int
    compared: str
    """The file of the documents whose ids are compared: all documents, but only some for the text ``lines``."""
    compared_documents: int


@dataclass(frozen=True)
class Inputs:
    """All texts of a run, by name."""

    texts: dict[str, Text]
    corpus: tuple[str, ...]
    """The names of the texts that are measured in full."""
    large: tuple[str, ...]
    """The names of the longer texts from the same files."""
    scale: tuple[str, ...]
    """The names of the texts of the scenario ``scale``: plain files, of any size."""
    words_path: str
    """The file of words for the memory scenario. Empty if that scenario is not measured."""
    words_bytes: int


def text_name(spec: str) -> str:
    """Return the name of a text: its name in the shared corpus, and for other texts the name of its file."""
    return spec if spec in CORPUS else find_text(spec).name


def make_inputs(
    specs: Sequence[str], directory: str, sizes: Sizes, scenarios: Sequence[str], scale: Mapping[str, str] | None = None
) -> Inputs:
    """Write the texts that the scenarios need into a directory. `scale` maps names of texts to plain files."""
    texts: dict[str, Text] = {}

    def put(file: str, docs: list[str]) -> str:
        path = os.path.join(directory, f"{file}.json")
        with open(path, "w", encoding="utf-8", newline="") as out:
            json.dump(docs, out, ensure_ascii=False)
        return path

    def add(name: str, docs: list[str], compared: int | None = None) -> None:
        path = put(str(len(texts)), docs)
        few = docs[:compared]
        some = path if len(few) == len(docs) else put(f"{len(texts)}-some", few)
        texts[name] = Text(name, path, sum(len(doc.encode()) for doc in docs), len(docs), some, len(few))

    data = {text_name(spec): read_text(find_text(spec), sizes.text) for spec in specs}
    for name, content in data.items():
        if not content:
            raise ValueError(f"{name} is empty, so it cannot be measured")
        add(name, list(documents(content, DOCUMENT_BYTES)))
    large = []
    if "first-large" in scenarios:
        for spec in specs:
            content = read_text(find_text(spec), sizes.large)
            large.append(f"{text_name(spec)}, {len(content) / 1e6:.0f} MB")
            add(large[-1], list(documents(content, DOCUMENT_BYTES)))
    first = next(iter(data.values()), b"")
    if "long-document" in scenarios:
        # Use text that follows the text of the other documents, if the file has more.
        more = read_text(find_text(specs[0]), None if sizes.text is None else 2 * sizes.text)[len(first) :]
        add("one document", [(more if 2 * len(more) > len(first) else first).decode()])
    if "new-words" in scenarios:
        path = os.path.join(directory, "some-words.txt")
        write_new_words(path, sizes.new_words, seed=1)
        with open(path, "rb") as stream:
            add("new words", list(documents(stream.read(), DOCUMENT_BYTES)))
    if "lines" in scenarios:
        add("lines", _lines(specs, sizes), sizes.compared_lines)
    if "short" in scenarios:
        add("short strings", _short(first.decode(), sizes.short))
    if "decode" in scenarios:
        add("decoded", list(documents(read_text(find_text(specs[0]), sizes.decode), DOCUMENT_BYTES)))
    if "hostile" in scenarios:
        prose = read_text(find_text(specs[0]), sizes.hostile).decode()
        add(PROSE, [prose])
        made = long_pretokens(prose, sizes.hostile)
        for kind in HOSTILE:
            add(kind, [made[kind]])
    words_path = ""
    if "memory" in scenarios:
        words_path = os.path.join(directory, "words.txt")
        write_new_words(words_path, sizes.memory, seed=2)
    for name, path in (scale or {}).items():
        size = os.path.getsize(path)
        count = -(-size // DOCUMENT_BYTES)
        texts[name] = Text(name, path, size, count, path, count)
    return Inputs(texts, tuple(data), tuple(large), tuple(scale or ()), words_path, sizes.memory)


def _lines(specs: Sequence[str], sizes: Sizes) -> list[str]:
    """Return lines of all texts in turn. Long lines are cut. If the texts have too few, lines are repeated."""
    limit = None if sizes.text is None else max(sizes.text, sizes.lines * LINE)
    sources = [_cut_lines(read_text(find_text(spec), limit).decode()) for spec in specs]
    found: list[str] = []
    while sources and len(found) < sizes.lines:
        for source in list(sources):
            some = list(islice(source, 1000))
            found += some
            if not some:
                sources.remove(source)
    return (found * (sizes.lines // max(1, len(found)) + 1))[: sizes.lines]


def _cut_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        for at in range(0, len(line), LINE):
            yield line[at : at + LINE]


def _short(text: str, count: int) -> list[str]:
    """Return up to `count` beginnings of lines, of 20 to 60 characters."""
    lines = [line.strip()[:LINE] for line in text.split("\n") if len(line.strip()) >= 20]
    step = max(1, len(lines) // count)
    return lines[::step][:count] or [text[:LINE]]

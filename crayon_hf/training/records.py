"""JSON lines: one object a line, of which one member is the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from crayon_hf.errors import CorpusError, CrayonError
from crayon_hf.reading.records import check_text, record_of
from crayon_hf.training.batches import BATCH, Texts


def json_batches(file: IO[bytes], path: str, column: str, raw: IO[bytes] | None) -> Iterator[Texts]:
    """The texts of `column`. Blank lines and nulls are none; anything else that is no text is an error."""
    texts: list[str] = []
    numbers: list[int] = []
    size = read = 0

    def batch() -> Texts:
        lines = numbers
        return Texts(texts, lambda i: f"{path}, line {lines[i]}: {column!r}", read if raw is None else raw.tell())

    for number, line in enumerate(file, 1):
        read += len(line)
        if line.isspace():
            continue
        text = _text(line, f"{path}, line {number}", column)
        if text is None:
            continue
        texts.append(text)
        numbers.append(number)
        size += len(text) + 1
        if size >= BATCH:
            yield batch()
            texts, numbers, size = [], [], 0
    if texts:
        yield batch()


def _text(line: bytes, where: str, column: str) -> str | None:
    try:
        text = record_of(line, [column])[column]
    except CrayonError as error:
        raise type(error)(f"{where} {error}") from None
    if text is None:
        return None
    try:
        return check_text(text, column)
    except CorpusError as error:
        raise CorpusError(f"{where}: {error}") from None

"""JSON lines: one object a line, of which one member is the text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from crayon_hf.errors import CorpusError, InvalidUtf8Error
from crayon_hf.training.corpus import BATCH, Texts


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
        record: Any = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(f"{where} is not UTF-8: invalid byte at offset {error.start} of the line") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where} is not JSON: {error} (a file of plain text is read with format='text')") from None
    if not isinstance(record, dict):
        raise CorpusError(f"{where} is a JSON {type(record).__name__}, expected an object with {column!r}")
    if column not in record:
        known = ", ".join(map(repr, list(record)[:20])) or "nothing"
        raise CorpusError(f"{where} has no {column!r}; it has {known}")
    text = record[column]
    if text is None:
        return None
    if isinstance(text, str):
        if b"\\u" in line and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise CorpusError(f"{where}: {column!r} has a lone surrogate, which is no text")
        return text
    raise CorpusError(f"{where}: {column!r} is {type(text).__name__}, expected str")

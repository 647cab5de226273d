"""Texts of JSON lines (a member of each object) and of CSV (a column)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO

from crayon_hf.errors import CorpusError, CrayonError, InvalidUtf8Error
from crayon_hf.text_readers.csv_rows import header_of, reader_of
from crayon_hf.text_readers.documents import MAX_DOCUMENT_BYTES
from crayon_hf.text_readers.records import check_text, record_of
from crayon_hf.training_data.batches import BATCH, Texts


def json_batches(file: IO[bytes], path: str, column: str, raw: IO[bytes] | None) -> Iterator[Texts]:
    """Yield the texts of `column`. Blank lines and nulls are skipped; other values are errors."""
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


def csv_batches(file: IO[bytes], path: str, column: str, kind: str, raw: IO[bytes] | None) -> Iterator[Texts]:
    """Yield the texts of `column`, which the first line names. A malformed row is an error."""
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for line in file:
            read += len(line)
            for part in line.splitlines(keepends=True):  # also at a lone \\r, as Python's text files do
                yield part.decode("utf-8", "surrogateescape")

    rows = reader_of(lines(), kind, MAX_DOCUMENT_BYTES)
    names = header_of(rows, path, [column])
    place = names.index(column)
    texts: list[str] = []
    first = size = number = 0

    def batch() -> Texts:
        begin = first
        return Texts(texts, lambda i: f"{path}, row {begin + i + 1}: {column!r}", read if raw is None else raw.tell())

    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise CorpusError(f"{path}, row {number + 1} cannot be read: {error}") from None
        if row is None:
            break
        if not row:  # a blank line
            continue
        number += 1
        if len(row) != len(names):
            raise CorpusError(f"{path}, row {number} has {len(row)} fields, expected {len(names)}: one for each column")
        text = row[place]
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidUtf8Error(f"{path}, row {number}: {column!r} is not UTF-8") from None
        texts.append(text)
        size += len(text) + 1
        if size >= BATCH:
            yield batch()
            first, texts, size = number, [], 0
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

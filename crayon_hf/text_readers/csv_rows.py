"""CSV and TSV files as documents: a line with the names of the columns, then rows. Python's ``csv`` says what a row is.

A field may be quoted, with line ends in it and quotes doubled, as spreadsheets and pandas write it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.batches import MOST_RECORDS, MOST_UNUSUAL, Batch, too_long
from crayon_hf.text_readers.documents import Documents, Position, Reading
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.template import Template

DELIMITERS = {"csv": ",", "tsv": "\t"}

_READ = 1 << 18
_ROW = 16
"""What a row costs beside its text."""


def reader_of(lines: Iterable[str], kind: str, limit: int) -> Any:
    """What gives the rows of some lines, as lists of str, and raises csv.Error for one that is none.

    `limit` is how many characters a field may have: Python has one limit for the process, which is never lowered.
    """
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    return csv.reader(lines, delimiter=DELIMITERS[kind], strict=True)


def header_of(rows: Any, address: str, columns: Iterable[str]) -> list[str]:
    """The names of the columns. CorpusError without one of `columns`, or with two of that name."""
    try:
        names: list[str] = next(rows, [])
    except csv.Error as error:
        raise CorpusError(f"{address}: the line with the names of the columns cannot be read: {error}") from None
    names[:1] = [name.removeprefix("\ufeff") for name in names[:1]]
    for column in columns:
        if names.count(column) != 1:
            count = "more than one column" if column in names else "no column"
            known = ", ".join(map(repr, names[:20])) or "no line with names"
            raise CorpusError(f"{address} has {count} {column!r}; it has {known} (--column says which is the text)")
    return names


def csv_documents(source: Stored, reading: Reading, start: Position, kind: str) -> Iterator[Documents]:
    """The documents from `start` on; `source` is at its beginning, where the names of the columns are."""
    lines = _Lines(source, reading.max_document_bytes)
    rows = reader_of(lines, kind, reading.max_document_bytes)
    names = header_of(rows, source.file.address, reading.columns)
    lines.go_to(start.offset)
    gathered = _Gathered(source, reading, names, start.number)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            gathered.bad(f"is no row: {error}")
        else:
            if row is None:
                break
            if row:  # else the line is blank
                gathered.add(row)
        if gathered.is_full:
            yield gathered.documents(lines.offset)
    if gathered.records:
        yield gathered.documents(lines.offset)


class _Lines:
    """The lines of a file one by one, each with its end; `offset` bytes of it were given out."""

    def __init__(self, source: Stored, limit: int) -> None:
        self._source, self._limit = source, limit
        self._block = memoryview(bytearray(_READ))
        self._data = b""
        self._at = 0
        self.offset = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        end = self._data.find(b"\n", self._at) + 1
        while not end:
            before = len(self._data) - self._at
            if not self._more():
                end = len(self._data)
                break
            end = self._data.find(b"\n", before) + 1
            if not end and before > self._limit:
                raise CorpusError(f"{self._source.file.address} has a line of more than {self._limit} bytes")
        line = self._data[self._at : end]
        if not line:
            raise StopIteration
        self._at = end
        self.offset += len(line)
        return line.decode("utf-8", "surrogateescape")

    def go_to(self, offset: int) -> None:
        """Leave out what is before `offset`, if anything."""
        while self.offset < offset:
            here = min(len(self._data) - self._at, offset - self.offset)
            self._at += here
            self.offset += here
            if not here and not self._more():
                raise CorpusError(f"{self._source.file.address} ends before the place where reading goes on")

    def _more(self) -> bool:
        read = self._source.readinto(self._block)
        self._data, self._at = self._data[self._at :] + bytes(self._block[:read]), 0
        return read > 0


class _Gathered:
    """Rows that are no batch yet."""

    def __init__(self, source: Stored, reading: Reading, names: list[str], number: int) -> None:
        self._source, self._reading, self._number = source, reading, number
        self._columns = [names.index(column) for column in reading.columns]
        self._width = len(names)
        self._template = None if reading.template is None else Template(reading.template)
        self._empty()

    def _empty(self) -> None:
        self._batch = Batch(self._reading, self._source.file.address, "row", self._number + 1)
        self._texts: list[bytes] = []
        self._cost = self._unusual = 0

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self._texts)

    @property
    def is_full(self) -> bool:
        return self._cost >= self._reading.batch_bytes or self.records >= MOST_RECORDS or self._unusual >= MOST_UNUSUAL

    def add(self, row: list[str]) -> None:
        """A row, good or bad."""
        if len(row) != self._width:
            self.bad(f"has {len(row)} fields, and there are {self._width} columns")
            return
        values = [row[column].encode("utf-8", "surrogateescape") for column in self._columns]
        text = values[0] if self._template is None else self._template.text(values)
        if len(text) > self._reading.max_document_bytes:
            self.bad(too_long(len(text), self._reading))
            return
        try:
            text.decode()
        except UnicodeDecodeError as error:
            self.bad(
                f"is not UTF-8: invalid byte at offset {error.start} of the text",
                text.decode("utf-8", "replace").encode(),
            )
            return
        self._texts.append(text)
        self._cost += len(text) + _ROW

    def bad(self, reason: str, replacement: bytes = b"") -> None:
        """A row that is no document."""
        self._batch.bad(self.records, reason, replacement)
        self._texts.append(b"")
        self._cost += _ROW
        self._unusual += 1

    def documents(self, offset: int) -> Documents:
        """The batch, and begin another one behind it: at `offset` of the file."""
        self._number += self.records
        ends = np.cumsum([len(text) for text in self._texts], dtype=np.int64)
        begins = ends - np.diff(ends, prepend=0)
        position = Position(offset, 0, self._number)
        made = self._batch.documents(memoryview(b"".join(self._texts)), begins, ends, position, self._source.done)
        self._empty()
        return made

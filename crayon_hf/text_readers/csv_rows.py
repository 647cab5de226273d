"""CSV and TSV files as documents: a header with the names of the columns, then the rows that Python's ``csv`` reads.

A field may be quoted, with line ends inside and quotes doubled, as spreadsheets and pandas write it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.batches import MOST_RECORDS, Batch, too_long
from crayon_hf.text_readers.documents import Documents, Reading, check_columns
from crayon_hf.text_readers.stored import Stored, Stream
from crayon_hf.text_readers.template import Template

DELIMITERS = {"csv": ",", "tsv": "\t"}

_READ = 1 << 18
_ROW = 16
"""The overhead of a row, in bytes, besides its text."""


def csv_documents(source: Stored | Stream, reading: Reading, kind: str) -> Iterator[Documents]:
    """Yield the documents of a CSV or TSV file."""
    address, limit = source.file.address, reading.max_document_bytes
    file = io.TextIOWrapper(io.BufferedReader(source, _READ), "utf-8", "surrogateescape", newline="")
    csv.field_size_limit(max(csv.field_size_limit(), limit))  # of the process: it is never lowered
    reader = csv.reader(_lines(file, address, limit), delimiter=DELIMITERS[kind])
    try:
        names: list[str] = next(reader, [])
    except csv.Error as error:
        raise CorpusError(f"{address}: invalid CSV header: {error}") from None
    names[:1] = [name.removeprefix("\ufeff") for name in names[:1]]
    check_columns(names, reading.columns, address)
    columns = [names.index(column) for column in reading.columns]
    template = None if reading.template is None else Template(reading.template)
    rows, number, count = _rows(reader), 0, -1
    while count:
        batch = Batch(reading, address, "row", number + 1)
        count = cost = 0
        for row in rows:
            reason, text = _judged(row, len(names), columns, template, limit)
            if reason is None:
                batch.text(count, text)
                cost += len(text)
            else:
                batch.bad(count, reason, text)
            count, cost = count + 1, cost + _ROW
            if cost >= reading.batch_bytes or count >= MOST_RECORDS:
                break
        if count:
            number += count
            nothing = np.zeros(count, np.int64)
            yield batch.documents(memoryview(b""), nothing, nothing, source.done)


def _rows(reader: Any) -> Iterator[list[str] | csv.Error]:
    """Yield the rows that are not blank. A malformed row yields the error of ``csv`` instead."""
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            yield error
            continue
        if row is None:
            return
        if row:
            yield row


def _judged(
    row: list[str] | csv.Error, width: int, columns: list[int], template: Template | None, limit: int
) -> tuple[str | None, bytes]:
    """Return the reason why a row is bad, or None, and the row's text or replacement."""
    if isinstance(row, csv.Error):
        return f"is not a valid row: {row}", b""
    if len(row) != width:
        return f"has {len(row)} fields, expected {width}", b""
    values = [row[column].encode("utf-8", "surrogateescape") for column in columns]
    text = values[0] if template is None else template.text(values)
    if len(text) > limit:
        return too_long(len(text), limit), b""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        replacement = text.decode("utf-8", "replace").encode()
        return f"is not UTF-8: invalid byte at offset {error.start} of the text", replacement
    return None, text


def _lines(file: io.TextIOWrapper, address: str, limit: int) -> Iterator[str]:
    """Yield the lines of a file, including their line ends."""
    while line := file.readline(limit + _READ):
        if len(line) == limit + _READ:
            raise CorpusError(f"{address} has a line of more than {limit} bytes")
        yield line

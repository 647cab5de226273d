"""Builds batches of documents from the records of a file: lines, rows, or texts between separators.

The documents of a batch are byte ranges of one buffer (its view). Unusual and bad records are handled one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf._core import utf8_errors
from crayon_hf.text_readers.documents import BadRecord, Documents, Reading
from crayon_hf.text_readers.template import Template

Ranges = npt.NDArray[np.int64]

MOST_RECORDS = 1 << 18
"""The limit of records in a batch: even an empty record takes memory here and in later steps, and a bad one more."""


class Column(NamedTuple):
    """A column of records: its text i is ``view[begins[i]:ends[i]]``."""

    name: str
    view: memoryview
    begins: Ranges
    ends: Ranges


class Batch:
    """Collects the unusual records of a batch; `documents` then makes the batch.

    The text of record i is ``view[begins[i]:ends[i]]``, the arguments of `documents`, unless a method was called for
    the record.
    """

    def __init__(self, reading: Reading, address: str, what: Literal["line", "row", "document"], first: int) -> None:
        """`what` is the kind of the records, for messages. `first` is the first record's number in its file, from 1."""
        self._reading, self._address, self._what, self._first = reading, address, what, first
        self._texts: dict[int, bytes] = {}
        self._left_out: list[int] = []
        self._bad: list[tuple[int, str]] = []

    def text(self, record: int, text: bytes) -> None:
        """Set the text of a record that the view does not contain in that form."""
        self._texts[record] = text

    def blank(self, records: Sequence[int]) -> None:
        """Leave out these records (indices in the batch), such as blank lines, without a report."""
        self._left_out += records

    def bad(self, record: int, reason: str, replacement: bytes = b"") -> None:
        """Report a bad record, in order. Raise BadRecordError if bad records stop the reading."""
        if self._reading.bad_records == "stop":
            raise BadRecord(self._address, self._first + record, self._what, reason, 0).error()
        self._bad.append((record, reason))
        if self._reading.bad_records == "replace":
            self._texts[record] = replacement
        else:
            self._left_out.append(record)

    def documents(self, view: memoryview, begins: Ranges, ends: Ranges, size: int) -> Documents:
        """Finish the batch, and return its documents. Texts set by the method `text` are appended to a copy of `view`.

        `size` is `Documents.size`.
        """
        if self._texts:
            begins, ends, records = begins.copy(), ends.copy(), list(self._texts)
            sizes = np.array([len(text) for text in self._texts.values()], np.int64)
            ends[records] = len(view) + np.cumsum(sizes)
            begins[records] = ends[records] - sizes
            view = memoryview(b"".join((view, *self._texts.values())))
            self._texts.clear()  # the caller keeps this object until the next batch
        bad: list[BadRecord] = []
        if self._left_out or self._bad:
            kept = np.ones(len(begins), bool)
            kept[self._left_out] = False
            places = np.cumsum(kept) - kept
            bad = [
                BadRecord(self._address, self._first + record, self._what, reason, int(places[record]))
                for record, reason in self._bad
            ]
            begins, ends = begins[kept], ends[kept]
        return Documents(view, begins, ends, bad, size)


def assembled(template: Template, columns: Sequence[Column]) -> tuple[memoryview, Ranges, Ranges]:
    """Fill a template with the texts of columns, for each row. Return a view and the ranges of the texts in it."""
    count = len(columns[0].begins)
    sizes = np.zeros(count, np.int64)
    parts = []
    for piece in template.pieces:
        if isinstance(piece, int):
            _, view, begins, ends = columns[piece]
            parts.append([view[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)])
            sizes += ends - begins
        else:
            parts.append([memoryview(piece)] * count)
            sizes += len(piece)
    last = np.cumsum(sizes)
    data = memoryview(b"".join([part for row in zip(*parts, strict=True) for part in row]))
    return data, last - sizes, last


def wrong_texts(
    columns: Sequence[Column],
    sizes: Ranges,
    null: Ranges | None,
    reading: Reading,
    template: Template | None = None,
) -> Iterator[tuple[int, str, bytes]]:
    """Yield (index, reason, replacement) for each invalid record, in order.

    The name of the only column is ``""`` if the file has no columns. `sizes` are the sizes of the records' texts.
    `null` has the index of a null column of each record, or -1 if the record has none.
    """
    long = sizes > reading.max_document_bytes
    wrong = [utf8_errors(view, begins, ends, reading.threads) for _, view, begins, ends in columns]
    bad = long if null is None else long | (null >= 0)
    for places in wrong:
        bad = bad | (places >= 0)
    for i in np.flatnonzero(bad).tolist():
        if null is not None and null[i] >= 0:
            yield i, f"{columns[null[i]][0]!r} is null, expected str", b""
            continue
        if long[i]:
            yield i, too_long(int(sizes[i]), reading.max_document_bytes), b""
            continue
        column = next(j for j, places in enumerate(wrong) if places[i] >= 0)
        name = f"{columns[column][0]!r} " if columns[column][0] else ""
        texts = [
            bytes(view[begins[i] : ends[i]]).decode("utf-8", "replace").encode() for _, view, begins, ends in columns
        ]
        text = texts[0] if template is None else template.text(texts)
        yield i, f"{name}is not UTF-8: invalid byte at offset {wrong[column][i]}", text


def too_long(size: int, limit: int) -> str:
    """Return the message for a record of `size` bytes, which are more than the `limit`."""
    return f"has {size} bytes, more than max_document_bytes ({limit})"


def joined(parts: Sequence[tuple[memoryview, Ranges, Ranges]]) -> tuple[memoryview, Ranges, Ranges]:
    """Concatenate columns, each a view and the ranges of its texts, into one. A single column is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    views, begins, ends, size = [], [], [], 0
    for view, first, last in parts:
        low, high = (int(first.min()), int(last.max())) if len(first) else (0, 0)
        texts = int((last - first).sum())
        if high - low > texts + (texts >> 1):  # a large dictionary, mostly unused
            view = memoryview(b"".join([view[b:e] for b, e in zip(first.tolist(), last.tolist(), strict=True)]))
            last = np.cumsum(last - first)
            first, low, high = last - np.diff(last, prepend=0), 0, len(view)
        views.append(view[low:high])
        begins.append(first - low + size)
        ends.append(last - low + size)
        size += high - low
    return memoryview(b"".join(views)), np.concatenate(begins), np.concatenate(ends)

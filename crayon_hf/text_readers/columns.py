"""Columns of parquet and Arrow files as documents. They are read by ``pyarrow``, a part of the extra ``corpora``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.arrow_spans import spans_of
from crayon_hf.text_readers.batches import MOST_RECORDS, MOST_UNUSUAL, Batch, Spans, assembled, joined, wrong_texts
from crayon_hf.text_readers.documents import Documents, Reading
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.tables import Rows
from crayon_hf.text_readers.template import Template

Column = tuple[str, memoryview, Spans, Spans]
"""Its name, and its texts: text i is ``view[begins[i]:ends[i]]``."""
_ROW = 16
"""What a row costs beside its text."""
_LARGE = 16
"""Rows that are at least this part of a batch are one by themselves: they are not copied."""


def column_documents(source: Stored, reading: Reading, rows: Iterator[Rows]) -> Iterator[Documents]:
    """The documents of `rows`."""
    gathered = _Gathered(source, reading)
    for part in rows:
        columns, sizes, null = _spans(part.arrays, source.file.address, reading)
        costs = np.cumsum(sizes + _ROW)
        begin = 0
        while begin < len(costs):  # at most as many bytes as a batch may have, but at least one row
            before = int(costs[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(costs, before + reading.batch_bytes, "right")), begin + 1)
            cost = int(costs[end - 1]) - before
            is_full = gathered.cost + cost > reading.batch_bytes or gathered.rows >= MOST_RECORDS
            if gathered.rows and (is_full or gathered.unusual >= MOST_UNUSUAL):
                yield gathered.documents()
            gathered.add(
                [(name, view, begins[begin:end], ends[begin:end]) for name, view, begins, ends in columns],
                sizes[begin:end],
                null[begin:end],
                cost,
            )
            gathered.done = part.done
            if gathered.cost == cost >= reading.batch_bytes // _LARGE:
                yield gathered.documents()
            begin = end
        del columns
    if gathered.rows:
        yield gathered.documents()


def _spans(arrays: list[Any], address: str, reading: Reading) -> tuple[list[Column], Spans, Spans]:
    """The columns; bytes of each row's text; and the first column that is null in it, or -1. Nobody has looked at UTF-8
    yet."""
    columns: list[Column] = []
    null = np.full(len(arrays[0]), -1, np.int64)
    for i, (name, array) in reversed(list(enumerate(zip(reading.columns, arrays, strict=True)))):
        try:
            view, begins, ends, valid = spans_of(array)
        except CorpusError as error:
            raise CorpusError(f"{address}: column {name!r} {error}") from error
        if valid is not None:
            null[~valid] = i
            ends = np.where(valid, ends, begins)
        columns.insert(0, (name, view, begins, ends))
    sizes = [ends - begins for *_, begins, ends in columns]
    return columns, sizes[0] if reading.template is None else Template(reading.template).sizes(sizes), null


class _Gathered:
    """A batch that is not full yet."""

    def __init__(self, source: Stored, reading: Reading) -> None:
        self._source, self._reading, self._number = source, reading, 0
        self._template = None if reading.template is None else Template(reading.template)
        self.done = 0
        """Bytes of the file that are read with the rows."""
        self._empty()

    def _empty(self) -> None:
        self._batch = Batch(self._reading, self._source.file.address, "row", self._number + 1)
        self._parts: list[tuple[memoryview, Spans, Spans]] = []
        self.rows = self.cost = self.unusual = 0

    def add(self, columns: list[Column], sizes: Spans, null: Spans, cost: int) -> None:
        """Add some rows."""
        for i, reason, text in wrong_texts(columns, sizes, null, self._reading, self._template):
            self._batch.bad(self.rows + i, reason, text)
            self.unusual += 1
        _, views, begins, ends = zip(*columns, strict=True)
        if self._template is None:
            self._parts.append((views[0], begins[0], ends[0]))
        else:
            self._parts.append(assembled(self._template, views, begins, ends))
        self.rows += len(sizes)
        self.cost += cost

    def documents(self) -> Documents:
        """The batch, and another one begins."""
        self._number += self.rows
        result = self._batch.documents(*joined(self._parts), self.done)
        self._empty()
        return result

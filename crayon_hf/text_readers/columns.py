"""Columns of parquet and Arrow files as documents. They are read by ``pyarrow``, a part of the extra ``corpora``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.arrow_spans import ArrowSpans, spans_of
from crayon_hf.text_readers.batches import MOST_RECORDS, MOST_UNUSUAL, Batch, Spans, assembled, joined, wrong_texts
from crayon_hf.text_readers.documents import Documents, Position, Reading
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.tables import Rows
from crayon_hf.text_readers.template import Template

_ROW = 16
"""What a row costs beside its text."""
_LARGE = 16
"""Rows that are at least this part of a batch are one by themselves: they are not copied."""


def column_documents(source: Stored, reading: Reading, start: Position, rows: Iterator[Rows]) -> Iterator[Documents]:
    """The documents of `rows`, which begin at `start`."""
    gathered = _Gathered(source, reading, start.number)
    for part in rows:
        table = _Table.of(part, source.file.address, reading)
        costs = np.cumsum(table.sizes + _ROW)
        begin = 0
        while begin < len(costs):  # at most as many bytes as a batch may have, but at least one row
            before = int(costs[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(costs, before + reading.batch_bytes, "right")), begin + 1)
            cost = int(costs[end - 1]) - before
            is_full = gathered.cost + cost > reading.batch_bytes or gathered.rows >= MOST_RECORDS
            if gathered.rows and (is_full or gathered.unusual >= MOST_UNUSUAL):
                yield gathered.documents()
            gathered.add(table, begin, end, cost, part)
            if gathered.cost == cost >= reading.batch_bytes // _LARGE:
                yield gathered.documents()
            begin = end
        del table
    if gathered.rows:
        yield gathered.documents()


class _Table(NamedTuple):
    """Rows of some columns, with what is known of them before UTF-8 is looked at."""

    columns: list[ArrowSpans]
    sizes: Spans
    """Bytes of each row's text."""
    null: Spans
    """The first column that is null, -1 where none is."""

    @classmethod
    def of(cls, rows: Rows, address: str, reading: Reading) -> _Table:
        columns: list[ArrowSpans] = []
        null = np.full(rows.rows, -1, np.int64)
        for i, (name, array) in reversed(list(enumerate(zip(reading.columns, rows.arrays, strict=True)))):
            try:
                spans = spans_of(array)
            except CorpusError as error:
                raise CorpusError(f"{address}: column {name!r} {error}") from error
            if spans.valid is not None:
                null[~spans.valid] = i
                spans = spans._replace(ends=np.where(spans.valid, spans.ends, spans.begins))
            columns.insert(0, spans)
        sizes = [spans.ends - spans.begins for spans in columns]
        whole = sizes[0] if reading.template is None else Template(reading.template).sizes(sizes)
        return cls(columns, whole, null)


class _Gathered:
    """A batch that is not full yet."""

    def __init__(self, source: Stored, reading: Reading, number: int) -> None:
        self._source, self._reading, self._number = source, reading, number
        self._template = None if reading.template is None else Template(reading.template)
        self._empty()

    def _empty(self) -> None:
        self._batch = Batch(self._reading, self._source.file.address, "row", self._number + 1)
        self._parts: list[tuple[memoryview, Spans, Spans]] = []
        self.rows = self.cost = self.unusual = 0

    def add(self, table: _Table, begin: int, end: int, cost: int, rows: Rows) -> None:
        """Add rows [begin, end) of `table`."""
        columns = [
            spans._replace(begins=spans.begins[begin:end], ends=spans.ends[begin:end]) for spans in table.columns
        ]
        self._check(columns, table.null[begin:end], table.sizes[begin:end])
        views = [spans.data for spans in columns]
        begins, ends = [spans.begins for spans in columns], [spans.ends for spans in columns]
        if self._template is None:
            self._parts.append((views[0], begins[0], ends[0]))
        else:
            self._parts.append(assembled(self._template, views, begins, ends))
        self._position = Position(rows.group, rows.row + end, self._number + self.rows + end - begin)
        self._done = rows.done
        self.rows += end - begin
        self.cost += cost

    def _check(self, columns: list[ArrowSpans], null: Spans, sizes: Spans) -> None:
        named = [
            (name, spans.data, spans.begins, spans.ends)
            for name, spans in zip(self._reading.columns, columns, strict=True)
        ]
        for i, reason, text in wrong_texts(named, sizes, null, self._reading, self._template):
            self._batch.bad(self.rows + i, reason, text)
            self.unusual += 1

    def documents(self) -> Documents:
        """The batch, and another one begins."""
        result = self._batch.documents(*joined(self._parts), self._position, self._done)
        self._number += self.rows
        self._empty()
        return result

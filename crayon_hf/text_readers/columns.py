"""Columns of parquet and Arrow files as documents. Reading them needs ``pyarrow``, from the extra ``corpora``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.arrow_spans import spans_of
from crayon_hf.text_readers.batches import Batch, Spans, assembled, wrong_texts
from crayon_hf.text_readers.documents import Documents, Reading
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.tables import Rows
from crayon_hf.text_readers.template import Template

Column = tuple[str, memoryview, Spans, Spans]
"""A column's name, view, begins and ends: its text i is ``view[begins[i]:ends[i]]``."""
_ROW = 16
"""The overhead of a row, in bytes, besides its text."""


def column_documents(source: Stored, reading: Reading, rows: Iterator[Rows]) -> Iterator[Documents]:
    """Yield the documents that the rows of a file contain."""
    template = None if reading.template is None else Template(reading.template)
    number = 0
    for arrays, done in rows:
        columns, sizes, null = _spans(arrays, source.file.address, reading, template)
        costs = np.cumsum(sizes + _ROW)
        begin = 0
        while begin < len(costs):  # as many rows as fit the batch, but at least one
            before = int(costs[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(costs, before + reading.batch_bytes, "right")), begin + 1)
            batch = Batch(reading, source.file.address, "row", number + begin + 1)
            part = [(name, view, begins[begin:end], ends[begin:end]) for name, view, begins, ends in columns]
            for i, reason, text in wrong_texts(part, sizes[begin:end], null[begin:end], reading, template):
                batch.bad(i, reason, text)
            _, views, begins, ends = zip(*part, strict=True)
            view, first, last = views[0], begins[0], ends[0]
            if template is not None:
                view, first, last = assembled(template, views, begins, ends)
            yield batch.documents(view, first, last, done)
            begin = end
        number += len(costs)


def _spans(
    arrays: list[Any], address: str, reading: Reading, template: Template | None
) -> tuple[list[Column], Spans, Spans]:
    """Return the columns, each row's size of text in bytes, and each row's first null column (its index, or -1).

    UTF-8 is not checked yet.
    """
    columns: list[Column] = []
    null = np.full(len(arrays[0]), -1, np.int64)
    for i, (name, array) in enumerate(zip(reading.columns, arrays, strict=True)):
        try:
            view, begins, ends, valid = spans_of(array)
        except CorpusError as error:
            raise CorpusError(f"{address}: column {name!r} {error}") from error
        if valid is not None:
            null[~valid & (null < 0)] = i
            ends = np.where(valid, ends, begins)
        columns.append((name, view, begins, ends))
    sizes = [ends - begins for *_, begins, ends in columns]
    return columns, sizes[0] if template is None else template.sizes(sizes), null

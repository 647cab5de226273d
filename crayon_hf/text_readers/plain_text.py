"""Text files as documents: the texts between separators, or the whole file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crayon_hf._core import split_ranges
from crayon_hf.text_readers.batches import MOST_RECORDS, Batch, Column, Ranges, too_long, wrong_texts
from crayon_hf.text_readers.blocks import blocks
from crayon_hf.text_readers.documents import Documents, Reading
from crayon_hf.text_readers.stored import Stored, Stream


def text_documents(source: Stored | Stream, reading: Reading, block_bytes: int) -> Iterator[Documents]:
    """Yield the documents of a text file."""
    splitter = _Splitter(reading.separator or b"", reading.threads)
    number = 1
    for view, size in blocks(source, splitter.separator, splitter.whole, block_bytes, reading.max_document_bytes):
        every, ends = (np.zeros(1, np.int64), np.zeros(1, np.int64)) if size else splitter.ranges(view)
        for first in range(0, len(every), MOST_RECORDS):
            part = slice(first, first + MOST_RECORDS)
            low, high = int(every[first]), int(ends[part][-1])
            text, begins, lasts = view[low:high], every[part] - low, ends[part] - low
            batch = Batch(reading, source.file.address, "document", number)
            if size:
                batch.bad(0, too_long(size, reading.max_document_bytes))
            for bad in wrong_texts([Column("", text, begins, lasts)], lasts - begins, None, reading):
                batch.bad(*bad)
            yield batch.documents(text, begins, lasts, source.done)
            number += len(begins)
        del view, text, every, ends, begins, lasts, batch  # frees their memory for the next block


class _Splitter:
    """Splits each block at a separator, once: `whole` keeps the ranges that `ranges` returns.

    Without a separator, a block is one document.
    """

    def __init__(self, separator: bytes, threads: int) -> None:
        self.separator, self._threads = separator, threads
        self._ranges: tuple[Ranges, Ranges] | None = None

    def whole(self, buffer: bytearray, old: int, size: int, at_end: bool) -> int:
        """Implement the argument `whole` of `blocks`."""
        if not self.separator:
            return size if at_end else 0
        with memoryview(buffer) as view, view[:size] as read:
            begins, ends = split_ranges(read, self.separator, self._threads)
        if at_end:
            cut = size
        else:
            if len(ends) and ends[-1] == size:  # the document continues after the buffer
                begins, ends = begins[:-1], ends[:-1]
            cut = int(ends[-1]) + len(self.separator) if len(ends) else 0
        self._ranges = begins, ends
        return cut

    def ranges(self, view: memoryview) -> tuple[Ranges, Ranges]:
        """Return the ranges of the documents of the block that `whole` found."""
        if self.separator and self._ranges is not None:
            return self._ranges
        return np.zeros(1, np.int64), np.full(1, len(view), np.int64)

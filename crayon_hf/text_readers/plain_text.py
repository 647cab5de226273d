"""Text files as documents: the texts between separators, or the whole file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from crayon_hf._core import split_ranges
from crayon_hf.text_readers.batches import MOST_RECORDS, MOST_UNUSUAL, Batch, too_long, wrong_texts
from crayon_hf.text_readers.blocks import blocks
from crayon_hf.text_readers.documents import Documents, Reading
from crayon_hf.text_readers.stored import Stored, Stream

Ranges = npt.NDArray[np.int64]

_WINDOW = MOST_RECORDS
"""The number of bytes that are split at a time: in the worst case each byte is a document."""


def text_documents(source: Stored | Stream, reading: Reading, block_bytes: int) -> Iterator[Documents]:
    """Yield the documents of a text file."""
    splitter = _Splitter(reading.separator or b"", reading.threads)
    number = 0
    for block in blocks(source, splitter.separator, splitter.whole, block_bytes, reading.max_document_bytes):
        if block.too_long:
            nothing = np.zeros(1, np.int64)
            batch = Batch(reading, source.file.address, "document", number + 1)
            batch.bad(0, too_long(block.too_long, reading))
            number += 1
            yield batch.documents(block.view, nothing, nothing, source.done)
        else:
            begins, ends = splitter.ranges(block.view)
            yield from _parts(source, reading, block.view, begins, ends, number)
            number += len(begins)
            del begins, ends
        del block


def _parts(
    source: Stored | Stream, reading: Reading, view: memoryview, begins: Ranges, ends: Ranges, number: int
) -> Iterator[Documents]:
    """Yield the documents of a block in batches, each with at most MOST_UNUSUAL bad documents.

    `number` is the number of documents before the block.
    """
    wrong = wrong_texts([("", view, begins, ends)], ends - begins, None, reading)
    first = 0
    while first < len(begins):
        batch = Batch(reading, source.file.address, "document", number + first + 1)
        last = len(begins)
        for count, (i, reason, text) in enumerate(wrong, 1):
            batch.bad(i - first, reason, text)
            if count == MOST_UNUSUAL:
                last = i + 1
                break
        low, high = (0, len(view)) if last - first == len(begins) else (int(begins[first]), int(ends[last - 1]))
        yield batch.documents(view[low:high], begins[first:last] - low, ends[first:last] - low, source.done)
        first = last


class _Splitter:
    """Splits each block at a separator, once: `whole` keeps the ranges that `ranges` returns.

    Without a separator, a block is one document.
    """

    def __init__(self, separator: bytes, threads: int) -> None:
        self.separator, self._threads = separator, threads
        self._ranges: tuple[Ranges, Ranges] | None = None

    def whole(self, buffer: bytearray, old: int, size: int, at_end: bool) -> int:
        """Implement the argument `whole` of `blocks`. After MOST_RECORDS documents, no further window is split."""
        if not self.separator:
            return size if at_end else 0
        parts: list[tuple[Ranges, Ranges]] = []
        count = at = 0
        with memoryview(buffer) as view:
            while at < size and count < MOST_RECORDS:
                until = min(at + _WINDOW, size)
                is_last = at_end and until == size
                with view[at:until] as window:
                    begins, ends = split_ranges(window, self.separator, self._threads)
                if len(ends) and at + ends[-1] == until and not is_last:  # the document continues after the window
                    begins, ends = begins[:-1], ends[:-1]
                if not len(ends):  # the next separator is after the window, or half in it
                    found = buffer.find(self.separator, max(at, max(until, old) - len(self.separator) + 1), size)
                    if found < 0 and not at_end:
                        break
                    begins, ends = np.zeros(1, np.int64), np.full(1, (size if found < 0 else found) - at)
                parts.append((begins + at, ends + at))
                count += len(ends)
                at = min(at + int(ends[-1]) + len(self.separator), size)
        if not parts:
            return 0
        begins, ends = (np.concatenate(ranges) for ranges in zip(*parts, strict=True))
        self._ranges = begins, ends
        return at

    def ranges(self, view: memoryview) -> tuple[Ranges, Ranges]:
        """Return the ranges of the documents of the block that `whole` found."""
        ranges, self._ranges = self._ranges, None
        if ranges is not None:
            return ranges
        return np.zeros(1, np.int64), np.full(1, len(view), np.int64)

"""Pack documents into sequences of one length, in bounded memory.

`Concatenated` joins documents and cuts. `BestFit` gathers a window of documents, cuts those longer than a sequence, and
combines the pieces (`crayon_hf.corpora.job.best_fit`). The result does not depend on how calls divide the documents.

Both wrap `Shards` and have its `write` and `finish`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.job.best_fit import best_fit
from crayon_hf.corpora.job.encoder import Encoding
from crayon_hf.corpora.job.shards import Sequences, Shards

WINDOW = 1 << 23
"""Approximate tokens in the window of `BestFit`; 32 sequences if that is more."""
_AT_ONCE = 1 << 20
"""Approximate tokens that are written at a time."""


def packed(shards: Shards, encoding: Encoding) -> Shards | Concatenated | BestFit:
    """Return the target to write documents to. Without packing it is `shards` itself."""
    options = encoding.work.options
    if options.sequence_length is None:
        return shards
    kind = BestFit if options.packing == "best-fit" else Concatenated
    return kind(shards, options.sequence_length, str(options.remainder), encoding.pad_id)


class _Packer:
    """Writes sequences to `shards`. `remainder` tells how to treat short ones: "drop", "keep" or "pad"."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        self._shards, self._length, self._remainder, self._pad_id = shards, length, remainder, pad_id

    def _emit(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        """Write sequences; short ones are kept, or padded.

        `splits` are the edges of the sequences in `ids`, `pieces` the edges of all their pieces.
        """
        sequences = Sequences(pieces, np.zeros(len(splits) - 1, np.int64))
        if self._remainder == "pad" and len(splits) > 1 and int(np.diff(splits).min()) < self._length:
            ids, splits, sequences = _padded(ids, splits, pieces, self._length, self._pad_id)
        self._shards.write(ids, splits, sequences)


class Concatenated(_Packer):
    """Joins documents and cuts at each full sequence. Only the last one may be short."""

    _waiting: tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None = None
    """The start of the next sequence: its ids, and the edges of its pieces."""

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Append documents."""
        ids, pieces = ids[int(splits[0]) : int(splits[-1])], splits - splits[0]
        if self._waiting is not None:
            early, before = self._waiting
            ids, pieces = np.concatenate([early, ids]), np.concatenate([before, pieces + len(early)])
        edges = np.arange(0, len(ids) + 1, self._length)
        end = int(edges[-1])
        self._emit(ids[:end], edges, np.union1d(pieces[pieces <= end], edges))
        self._waiting = None
        if end < len(ids):
            self._waiting = ids[end:].copy(), np.union1d(pieces[pieces > end] - end, [0])

    def finish(self) -> None:
        """Write the last sequence, after the last document."""
        if self._waiting is not None and self._remainder != "drop":
            ids, pieces = self._waiting
            self._emit(ids, np.array([0, len(ids)], np.int64), pieces)
        self._shards.finish()


class BestFit(_Packer):
    """Puts each piece of a window of documents where it fits best. Only documents longer than a sequence are cut."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        super().__init__(shards, length, remainder, pad_id)
        self._window = max(WINDOW, 32 * length)
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._tokens = 0

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Append documents."""
        first, count = 0, len(splits) - 1
        while first < count:
            room = int(splits[first]) + self._window - self._tokens
            last = min(int(splits.searchsorted(room)), count)  # including the document that fills the window
            last = max(last, first + 1)
            self._ids.append(ids[int(splits[first]) : int(splits[last])])
            self._lengths.append(splits[first + 1 : last + 1] - splits[first:last])
            self._tokens += len(self._ids[-1])
            first = last
            if self._tokens >= self._window:
                self._flush()
        if self._ids:  # the caller may reuse the array
            self._ids[-1] = self._ids[-1].copy()

    def finish(self) -> None:
        """Write the last sequences, after the last document."""
        self._flush()
        self._shards.finish()

    def _flush(self) -> None:
        if not self._ids:
            return
        ids, lengths = np.concatenate(self._ids), np.concatenate(self._lengths)
        self._ids, self._lengths, self._tokens = [], [], 0
        starts, sizes = _pieces(lengths, self._length)
        if not len(sizes):
            return
        order, splits = best_fit(sizes, self._length)
        starts, sizes = starts[order], sizes[order]
        ends = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=ends[1:])
        each = max(1, _AT_ONCE // self._length)
        for first in range(0, len(splits) - 1, each):
            edges = splits[first : first + each + 1]
            begin, end = int(edges[0]), int(edges[-1])
            bounds = ends[begin : end + 1] - ends[begin]
            places = zip(starts[begin:end].tolist(), sizes[begin:end].tolist(), strict=True)
            together = np.concatenate([ids[place : place + size] for place, size in places])
            self._emit(together, bounds[edges - begin], bounds)


def _pieces(lengths: npt.NDArray[np.int64], most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (starts, sizes) of the pieces of documents. Each is cut into pieces of `most` tokens and a rest."""
    counts = -(-lengths // most)
    of = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.cumsum(lengths) - lengths)[of] + number * most, np.minimum(lengths[of] - number * most, most)


def _padded(
    ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64], length: int, pad_id: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], Sequences]:
    """Pad all sequences to `length` tokens. The padding of a sequence is a piece."""
    lengths = splits[1:] - splits[:-1]
    padding = length - lengths
    filled = np.full((len(lengths), length), pad_id, ids.dtype)
    filled[np.arange(length) < lengths[:, None]] = ids[int(splits[0]) : int(splits[-1])]
    edges = np.arange(0, (len(lengths) + 1) * length, length)
    of = splits.searchsorted(pieces[:-1], side="right") - 1
    begins = pieces[:-1] - splits[of] + of * length
    pieces = np.union1d(begins, np.concatenate([(edges[:-1] + lengths)[padding > 0], edges]))
    return filled.ravel(), edges, Sequences(pieces, padding)

"""Documents to sequences of one length, in bounded memory, whatever the calls that the documents come in.

`Concatenated` puts documents one after the other and cuts. `BestFit` gathers documents up to a number of tokens, cuts
those that are longer than a sequence, and puts the pieces together (`crayon_hf.corpora.job.best_fit`).

Both stand before `Shards`, and have its `write` and `finish`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.job.best_fit import best_fit
from crayon_hf.corpora.job.encoder import Encoding
from crayon_hf.corpora.job.shards import Sequences, Shards

WINDOW = 1 << 23
"""Tokens, about, among which the best fit is looked for; 32 sequences where they are longer."""
_AT_ONCE = 1 << 20
"""Tokens, about, that are put together at a time."""


def packed(shards: Shards, encoding: Encoding) -> Shards | Concatenated | BestFit:
    """What documents are written to: `shards` themselves where nothing is packed."""
    options = encoding.work.options
    if options.sequence_length is None:
        return shards
    kind = BestFit if options.packing == "best-fit" else Concatenated
    return kind(shards, options.sequence_length, str(options.remainder), encoding.pad_id)


class _Packer:
    """Writes sequences to `shards`. What becomes of those that are too short is said by `remainder`: "drop", "keep"
    or "pad"."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        self._shards, self._length, self._remainder, self._pad_id = shards, length, remainder, pad_id

    def _emit(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        """Sequences, of which short ones are kept or padded."""
        sequences = Sequences(pieces, np.zeros(len(splits) - 1, np.int64))
        if self._remainder == "pad" and len(splits) > 1 and int(np.diff(splits).min()) < self._length:
            ids, splits, sequences = _padded(ids, splits, pieces, self._length, self._pad_id)
        self._shards.write(ids, splits, sequences)


class Concatenated(_Packer):
    """Documents one after the other, cut where a sequence is full; the last one of all may be short."""

    _waiting: tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None = None
    """What begins a sequence: less than one; and where its pieces begin and end."""

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Documents."""
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
        """There is no document left."""
        if self._waiting is not None and self._remainder != "drop":
            ids, pieces = self._waiting
            self._emit(ids, np.array([0, len(ids)], np.int64), pieces)
        self._shards.finish()


class BestFit(_Packer):
    """Within a window of documents each piece goes where it fits best. Only what is longer than a sequence is cut."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        super().__init__(shards, length, remainder, pad_id)
        self._window = max(WINDOW, 32 * length)
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._tokens = 0

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Documents."""
        first, count = 0, len(splits) - 1
        while first < count:
            room = int(splits[first]) + self._window - self._tokens
            last = min(int(splits.searchsorted(room)), count)  # with the document that fills the window
            last = max(last, first + 1)
            self._ids.append(ids[int(splits[first]) : int(splits[last])])
            self._lengths.append(splits[first + 1 : last + 1] - splits[first:last])
            self._tokens += len(self._ids[-1])
            first = last
            if self._tokens >= self._window:
                self._flush()
        if self._ids:  # the caller may use the array again
            self._ids[-1] = self._ids[-1].copy()

    def finish(self) -> None:
        """There is no document left."""
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
    """(starts, sizes) of the pieces of documents that lie one after the other: whole ones, or as many of `most` tokens
    as there are and the rest."""
    counts = -(-lengths // most)
    of = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.cumsum(lengths) - lengths)[of] + number * most, np.minimum(lengths[of] - number * most, most)


def _padded(
    ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64], length: int, pad_id: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], Sequences]:
    """Sequences that all have `length` tokens; what was put behind one is a piece."""
    lengths = splits[1:] - splits[:-1]
    padding = length - lengths
    filled = np.full((len(lengths), length), pad_id, ids.dtype)
    filled[np.arange(length) < lengths[:, None]] = ids[int(splits[0]) : int(splits[-1])]
    edges = np.arange(0, (len(lengths) + 1) * length, length)
    of = splits.searchsorted(pieces[:-1], side="right") - 1
    begins = pieces[:-1] - splits[of] + of * length
    pieces = np.union1d(begins, np.concatenate([(edges[:-1] + lengths)[padding > 0], edges]))
    return filled.ravel(), edges, Sequences(pieces, padding)

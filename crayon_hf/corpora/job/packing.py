"""Documents to sequences of one length, in bounded memory, whatever the calls that the documents come in.

`Concatenated` puts documents one after the other and cuts. `BestFit` gathers documents up to a number of tokens, cuts
those that are longer than a sequence, and puts the pieces together (`crayon_hf.corpora.job.best_fit`).

Both stand before `Shards`, and have its `write` and `finish`. The state of a shard says where the first document of the
next sequence begins, and how many tokens of it (`Concatenated`), or how many sequences of the window that it opens
(`BestFit`), are in finished shards: ``packed``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.job.best_fit import best_fit
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.shards import Sequences, Shards
from crayon_hf.corpora.job.state import State

WINDOW = 1 << 23
"""Tokens, about, among which the best fit is looked for; 32 sequences where they are longer."""
_AT_ONCE = 1 << 20
"""Tokens, about, that are put together at a time."""

Before = Callable[[int], dict[str, Any]]
"""What a state has to say when everything before a document of a call is done."""


def packed(shards: Shards, options: Options, pad_id: int | None) -> Shards | Packer:
    """What documents are written to: `shards` themselves where nothing is packed."""
    if options.sequence_length is None:
        return shards
    kind = BestFit if options.packing == "best-fit" else Concatenated
    return kind(shards, options.sequence_length, str(options.remainder), pad_id)


class Packer(ABC):
    """Writes sequences to `shards`. What becomes of those that are too short is said by `remainder`: "drop", "keep"
    or "pad"."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        self._shards, self._length, self._remainder, self._pad_id = shards, length, remainder, pad_id
        self._skip = shards.state.packed
        """What finished shards have of what comes first, as ``packed`` counts it."""

    @property
    def state(self) -> State:
        """That of the shards."""
        return self._shards.state

    @abstractmethod
    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], before: Before) -> None:
        """Documents, as `Shards.write` takes them. `before` is called for ascending documents."""

    def finish(self, changes: dict[str, Any]) -> None:
        """There is no document left."""
        self._flush()
        self._shards.finish({**changes, "packed": 0})

    def save(self, changes: dict[str, Any]) -> None:
        """Replace the state."""
        self._shards.save(changes)

    def abort(self) -> None:
        """Remove what is not finished."""
        self._shards.abort()

    @abstractmethod
    def _flush(self) -> None: ...

    def _emit(self, sequences: Sequences, before: Before) -> None:
        """Sequences, of which short ones are dropped, kept or padded."""
        lengths = sequences.splits[1:] - sequences.splits[:-1]
        if len(lengths) == 0:
            return
        if self._remainder == "pad" and int(lengths.min()) < self._length:
            assert self._pad_id is not None
            sequences = _padded(sequences, self._length, self._pad_id)
        self._shards.write(sequences.ids, sequences.splits, before, sequences)


class Concatenated(Packer):
    """Documents one after the other, cut where a sequence is full; the last one of all may be short."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        super().__init__(shards, length, remainder, pad_id)
        self._waiting: tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None = None
        """What begins a sequence: less than one; and where its pieces begin and end."""
        self._mark: dict[str, Any] = {}
        """What the state says when all before that is done."""

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], before: Before) -> None:
        if len(splits) < 2:
            return
        dropped = min(self._skip, int(splits[-1] - splits[0]))
        begin = int(splits[0]) + dropped
        ids, bounds = ids[begin : int(splits[-1])], np.maximum(splits, begin) - begin
        self._skip -= dropped
        waiting = 0
        if self._waiting is not None:
            early, pieces = self._waiting
            waiting = len(early)
            ids, joined = np.concatenate([early, ids]), np.concatenate([pieces, bounds + waiting])
        else:
            joined = bounds
        length, mark = self._length, self._mark

        def at(sequence: int) -> dict[str, Any]:
            """What the state says when all before a sequence of these is done."""
            token = sequence * length - waiting
            if token < 0 or (token == 0 and waiting):
                return mark
            document = int(bounds.searchsorted(token, side="right")) - 1
            done = token - int(bounds[document]) if document < len(bounds) - 1 else 0
            return {**before(document), "packed": done if document else done + dropped}

        full = len(ids) // length
        end = full * length
        edges = np.arange(0, end + 1, length)
        if full:
            pieces = np.union1d(joined[joined <= end], edges)
            self._emit(Sequences(ids[:end], edges, pieces, np.zeros(full, np.int64)), at)
        if end < len(ids):
            self._mark = at(full)
            self._waiting = ids[end:].copy(), np.union1d(joined[joined > end] - end, [0])
        else:
            self._waiting = None

    def _flush(self) -> None:
        if self._waiting is None or self._remainder == "drop":
            return
        ids, pieces = self._waiting
        splits = np.array([0, len(ids)], np.int64)
        self._emit(Sequences(ids, splits, pieces, np.zeros(1, np.int64)), lambda sequence: self._mark)
        self._waiting = None


class BestFit(Packer):
    """Within a window of documents each piece goes where it fits best. Only what is longer than a sequence is cut."""

    def __init__(self, shards: Shards, length: int, remainder: str, pad_id: int | None) -> None:
        super().__init__(shards, length, remainder, pad_id)
        self._window = max(WINDOW, 32 * length)
        self._reset()

    def _reset(self) -> None:
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._tokens = 0
        self._mark: dict[str, Any] | None = None

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], before: Before) -> None:
        first, count = 0, len(splits) - 1
        while first < count:
            if self._mark is None:
                self._mark = before(first)
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

    def _flush(self) -> None:
        if self._mark is None:
            return
        mark, skip = self._mark, self._skip
        ids, lengths = np.concatenate(self._ids), np.concatenate(self._lengths)
        self._reset()
        starts, sizes = _pieces(lengths, self._length)
        if len(sizes):
            order, splits = best_fit(sizes, self._length)
            starts, sizes = starts[order], sizes[order]
            ends = np.zeros(len(sizes) + 1, np.int64)
            np.cumsum(sizes, out=ends[1:])
            each = max(1, _AT_ONCE // self._length)
            for first in range(skip, len(splits) - 1, each):
                last = min(first + each, len(splits) - 1)
                begin, end = int(splits[first]), int(splits[last])
                bounds = ends[begin : end + 1] - ends[begin]
                places = zip(starts[begin:end].tolist(), sizes[begin:end].tolist(), strict=True)
                sequences = Sequences(
                    np.concatenate([ids[place : place + size] for place, size in places]),
                    bounds[splits[first : last + 1] - begin],
                    bounds,
                    np.zeros(last - first, np.int64),
                )

                def at(sequence: int, first: int = first) -> dict[str, Any]:
                    return {**mark, "packed": first + sequence}

                self._emit(sequences, at)
        self._skip = 0


def _pieces(lengths: npt.NDArray[np.int64], most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(starts, sizes) of the pieces of documents that lie one after the other: whole ones, or as many of `most` tokens
    as there are and the rest."""
    counts = -(-lengths // most)
    of = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.cumsum(lengths) - lengths)[of] + number * most, np.minimum(lengths[of] - number * most, most)


def _padded(sequences: Sequences, length: int, pad_id: int) -> Sequences:
    """Sequences that all have `length` tokens; what was put behind one is a piece."""
    ids, splits, pieces, _ = sequences
    lengths = splits[1:] - splits[:-1]
    padding = length - lengths
    filled = np.full((len(lengths), length), pad_id, ids.dtype)
    filled[np.arange(length) < lengths[:, None]] = ids[int(splits[0]) : int(splits[-1])]
    edges = np.arange(0, (len(lengths) + 1) * length, length)
    of = splits.searchsorted(pieces[:-1], side="right") - 1
    begins = pieces[:-1] - splits[of] + of * length
    return Sequences(
        filled.ravel(), edges, np.union1d(begins, np.concatenate([(edges[:-1] + lengths)[padding > 0], edges])), padding
    )

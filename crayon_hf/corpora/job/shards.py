"""Write ids to the files of one shard after another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS, ShardSettings, ShardWriter
from crayon_hf.corpora.job.job_spec import gone, refuse
from crayon_hf.corpora.job.state import load

if TYPE_CHECKING:
    from types import TracebackType


class Sequences(NamedTuple):
    """The pieces and padding of packed sequences."""

    pieces: npt.NDArray[np.int64]
    """Edges of the pieces (parts of documents, and paddings): the start of each, and the end of the last."""
    padding: npt.NDArray[np.int64]
    """Padding tokens at the end of each sequence."""


class Shards:
    """The files of ``output``, or with a token limit those of ``output_00000``, ``output_00001``, ...

    Documents are never cut: one longer than the limit is a shard of its own. A shard ends at the first document that
    does not fit, so the shards do not depend on how calls of `write` divide the documents.
    """

    def __init__(
        self, output: str, settings: ShardSettings, request: dict[str, Any], state_path: str, place: str
    ) -> None:
        """`request` is that of the state at `state_path`. Files are written in `place` first."""
        self.finished: tuple[dict[str, Any], ...] = ()
        """The finished shards, as JSON values."""
        self._output, self._request, self._state_path, self._place = output, request, state_path, place
        self._format, self._settings = FORMATS[request["format"]], settings
        self._limit: int | None = request["max_tokens_per_shard"]
        self._writer: ShardWriter | None = None
        self._padding = 0

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], sequences: Sequences | None = None) -> None:
        """Append documents, or with `sequences` packed sequences. `splits` are their edges in `ids`."""
        first, count = 0, len(splits) - 1
        while first < count:
            last = self._fitting(splits, first, count)
            if last == first:
                self._end_shard()
                continue
            if self._writer is None:
                number = "" if self._limit is None else f"_{len(self.finished):05d}"
                prefix = os.path.join(self._place, os.path.basename(self._output) + number)
                self._writer = self._format.open(prefix, self._settings)
            rows = splits[first : last + 1]
            if sequences is None:
                self._writer.write(ids, rows)
            else:
                begin, end = sequences.pieces.searchsorted(rows[[0, -1]])
                self._writer.write(ids, rows, sequences.pieces[begin : end + 1])
                self._padding += int(sequences.padding[first:last].sum())
            first = last

    def finish(self) -> None:
        """Finish the last shard, after the last document."""
        if self._writer is not None:
            self._end_shard()

    def check(self) -> None:
        """Raise JobError if the output belongs to another job by now, or its job is finished."""
        there = load(self._state_path)
        if there is None:
            raise gone(self._state_path)
        refuse(self._output, there.request, self._request)

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove the files of an unfinished shard."""
        if self._writer is not None:
            self._writer.abort()

    def _fitting(self, splits: npt.NDArray[np.int64], first: int, count: int) -> int:
        """The end of the documents from `first` on that fit into the open shard."""
        if self._limit is None:
            return count
        written = (self._writer.tokens, self._writer.documents) if self._writer is not None else (0, 0)
        room = self._limit - written[0]
        last = int(splits.searchsorted(splits[first] + room, side="right")) - 1
        if last <= first:
            return first if written[1] else first + 1
        return min(last, count)

    def _end_shard(self) -> None:
        assert self._writer is not None
        self.check()  # before files appear
        written, rows = self._writer.finish(), self._writer.documents
        storage.of(self._output).publish(self._place, os.path.dirname(self._output), written)
        is_packed = self._settings.sequence_length is not None
        shard = {
            "name": os.path.basename(self._writer.prefix),
            **({"sequences": rows, "padding": self._padding} if is_packed else {"documents": rows}),
            "tokens": self._writer.tokens,
            "files": [file._asdict() for file in written],
        }
        self._writer, self._padding, self.finished = None, 0, (*self.finished, shard)

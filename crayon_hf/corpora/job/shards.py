"""Ids to the files of one shard after the other, and the state after each."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS, ShardSettings, ShardWriter
from crayon_hf.corpora.job.job_spec import refuse
from crayon_hf.corpora.job.state import State, load
from crayon_hf.errors import JobError

if TYPE_CHECKING:
    from types import TracebackType

    from crayon_hf.text_readers.documents import BadRecord


class Sequences(NamedTuple):
    """What is in sequences."""

    pieces: npt.NDArray[np.int64]
    """Where each piece of a document (and each padding) begins, and the last one ends."""
    padding: npt.NDArray[np.int64]
    """Of each sequence, how many tokens at its end are padding."""


class Shards:
    """The files of ``output``; with a limit those of ``output_00000``, ``output_00001``, ... of at most so many tokens.

    A document is never cut: one that has more tokens than the limit is a shard of its own. A shard is finished when a
    document comes that has no room in it, so it does not matter how documents are divided among calls of `write`.
    Documents come from the first one on; those of shards that are finished already are left out.
    """

    def __init__(self, output: str, settings: ShardSettings, state: State, path: str, place: str) -> None:
        """`state` is that of the file at `path`; its finished shards are there. Files are made in the directory
        `place`."""
        self.state = state
        self._format, self._settings = FORMATS[state.request["format"]], settings
        self._output, self._limit, self._path, self._place = output, state.request["max_tokens_per_shard"], path, place
        self._storage = storage.of(output)
        self._writer: ShardWriter | None = None
        self._padding = 0
        self._rows = "documents" if settings.sequence_length is None else "sequences"
        self._finished = sum(shard[self._rows] for shard in state.shards)

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], sequences: Sequences | None = None) -> None:
        """Documents, or sequences."""
        count = len(splits) - 1
        first = min(self._finished, count)
        self._finished -= first
        while first < count:
            last = self._fitting(splits, first, count)
            if last == first:
                self._end_shard()
                self.save()
                continue
            if self._writer is None:
                name = os.path.basename(prefix_of(self._output, self._limit, len(self.state.shards)))
                self._writer = self._format.open(os.path.join(self._place, name), self._settings)
            rows = splits[first : last + 1]
            if sequences is None:
                self._writer.write(ids, rows)
            else:
                begin, end = sequences.pieces.searchsorted(rows[[0, -1]])
                self._writer.write(ids, rows, sequences.pieces[begin : end + 1])
                self._padding += int(sequences.padding[first:last].sum())
            first = last

    def finish(self) -> None:
        """There is no document left. The state is not replaced yet."""
        if self._finished:
            raise JobError(f"{self._output}: the inputs have fewer documents than its finished shards")
        if self._writer is not None:
            self._end_shard()

    def save(self, **changes: Any) -> None:
        """Replace the state, unless another process is further."""
        self.state = self.state._replace(**changes)
        there = self._theirs()
        if not there.done and len(there.shards) <= len(self.state.shards):
            self._storage.write(self._path, self.state.as_bytes())

    def _theirs(self) -> State:
        """The state in the file, which another process may have written. JobError for that of another job."""
        there = load(self._path)
        if there is None:
            raise JobError(
                f"{self._output}: its state is gone: another process has done the job, or begun anew in its place"
            )
        refuse(self._output, there.request, self.state.request)
        return there

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove what is not finished."""
        if self._writer is not None:
            self._writer.abort()

    def _fitting(self, splits: npt.NDArray[np.int64], first: int, count: int) -> int:
        """The end of the documents from `first` on that the open shard has room for."""
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
        self._theirs()  # before files appear
        written = self._writer.finish()
        self._storage.publish(self._place, os.path.dirname(self._output), written)
        shard = {
            "name": os.path.basename(self._writer.prefix),
            self._rows: self._writer.documents,
            **({"padding": self._padding} if self._settings.sequence_length is not None else {}),
            "tokens": self._writer.tokens,
            "files": [file._asdict() for file in written],
        }
        self._writer, self._padding = None, 0
        self.state = self.state._replace(shards=(*self.state.shards, shard))


def prefix_of(output: str, limit: int | None, index: int) -> str:
    """The prefix of a shard's files, by its number from 0."""
    return output if limit is None else f"{output}_{index:05d}"


_as_json = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for each record


class BadRecords:
    """The list of bad records, which waits in a file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115

    def add(self, records: Iterable[BadRecord]) -> None:
        """Put records after the others."""
        for record in records:
            fields = {"file": record.address, record.what: record.number, "reason": record.reason}
            self._file.write(_as_json(fields).encode("utf-8", "backslashreplace") + b"\n")

    def finish(self, path: str) -> None:
        """Bring them to the disk, if there are any."""
        if self._file.tell():
            self._file.seek(0)
            storage.of(path).place(path, iter(lambda: self._file.read(1 << 20), b""))

    def close(self) -> None:
        """Give the space back."""
        self._file.close()

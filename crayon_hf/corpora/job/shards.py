"""Write ids to the files of one shard after another, and the state after each."""

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
    """The pieces and padding of packed sequences."""

    pieces: npt.NDArray[np.int64]
    """Edges of the pieces (parts of documents, and paddings): the start of each, and the end of the last."""
    padding: npt.NDArray[np.int64]
    """Padding tokens at the end of each sequence."""


class Shards:
    """The files of ``output``, or with a token limit those of ``output_00000``, ``output_00001``, ...

    Documents are never cut: one longer than the limit is a shard of its own. A shard ends at the first document that
    does not fit, so the shards do not depend on how calls of `write` divide the documents. All documents are passed in;
    those of shards that were finished earlier are skipped.
    """

    def __init__(self, output: str, settings: ShardSettings, state: State, path: str, place: str) -> None:
        """`state` is the contents of `path`, and its finished shards exist. Files are written in `place` first."""
        self.state = state
        self._format, self._settings = FORMATS[state.request["format"]], settings
        self._output, self._limit, self._path, self._place = output, state.request["max_tokens_per_shard"], path, place
        self._storage = storage.of(output)
        self._writer: ShardWriter | None = None
        self._padding = 0
        self._rows = "documents" if settings.sequence_length is None else "sequences"
        self._finished = sum(shard[self._rows] for shard in state.shards)

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], sequences: Sequences | None = None) -> None:
        """Append documents, or with `sequences` packed sequences. `splits` are their edges in `ids`."""
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
        """Finish the last shard, after the last document. The state is not saved yet."""
        if self._finished:
            raise JobError(f"{self._output}: the inputs have fewer documents than the finished shards")
        if self._writer is not None:
            self._end_shard()

    def save(self, **changes: Any) -> None:
        """Store the state with `changes`, unless another process has finished more shards."""
        self.state = self.state._replace(**changes)
        there = self._theirs()
        if not there.done and len(there.shards) <= len(self.state.shards):
            self._storage.write(self._path, self.state.as_bytes())

    def _theirs(self) -> State:
        """The stored state, which may be another process's. Raises JobError if it belongs to another job."""
        there = load(self._path)
        if there is None:
            raise JobError(
                f"{self._output}: its state is gone: another process has finished the job, or begun another one there"
            )
        refuse(self._output, there.request, self.state.request)
        return there

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
        self._theirs()  # the job must still be ours before files appear
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
    """The path prefix of a shard's files; `index` counts from 0."""
    return output if limit is None else f"{output}_{index:05d}"


_as_json = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for each record


class BadRecords:
    """The list of bad records, kept in an unnamed temporary file until it is finished."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115

    def add(self, records: Iterable[BadRecord]) -> None:
        """Append records."""
        for record in records:
            fields = {"file": record.address, record.what: record.number, "reason": record.reason}
            self._file.write(_as_json(fields).encode("utf-8", "backslashreplace") + b"\n")

    def finish(self, path: str) -> None:
        """Write the list to `path`, if it has records."""
        if self._file.tell():
            self._file.seek(0)
            storage.of(path).place(path, iter(lambda: self._file.read(1 << 20), b""))

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()

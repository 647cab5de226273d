"""Ids to the files of one shard after the other, and the state after each."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS, ShardSettings, ShardWriter
from crayon_hf.corpora.job.job_spec import gone, refuse
from crayon_hf.corpora.job.state import State, load
from crayon_hf.errors import JobError
from crayon_hf.text_readers.documents import BadRecord


class Sequences(NamedTuple):
    """Some sequences, one after the other."""

    ids: npt.NDArray[Any]
    splits: npt.NDArray[np.int64]
    """Where each sequence begins, and the last one ends."""
    pieces: npt.NDArray[np.int64]
    """Where each piece of a document (and each padding) begins, and the last one ends."""
    padding: npt.NDArray[np.int64]
    """Of each sequence, how many tokens at its end are padding."""


class Shards:
    """The files of ``output``; with `limit` those of ``output_00000``, ``output_00001``, ... of at most so many tokens.

    A document is never cut: one that has more tokens than the limit is a shard of its own. A shard is finished when a
    document comes that has no room in it, so it does not matter how documents are divided among calls of `write`.
    """

    def __init__(
        self, format: str, output: str, settings: ShardSettings, limit: int | None, state: State, path: str, place: str
    ) -> None:
        """`state` is that of the file at `path`; its finished shards are there. Files are made in the directory
        `place`."""
        self.state = state
        self._format, self._settings = FORMATS[format], settings
        self._output, self._limit, self._path, self._place = output, limit, path, place
        self._storage = storage.of(output)
        self._writer: ShardWriter | None = None
        self._padding = 0

    def write(
        self,
        ids: npt.NDArray[Any],
        splits: npt.NDArray[np.int64],
        before: Callable[[int], dict[str, Any]],
        packed: Sequences | None = None,
    ) -> None:
        """Documents, or sequences with what is `packed` in them. `before` gives what the state has to say when
        everything before one of these is done."""
        first, count = 0, len(splits) - 1
        while first < count:
            last = self._fitting(splits, first, count)
            if last == first:
                self._finish(before(first))
                continue
            if self._writer is None:
                name = os.path.basename(prefix_of(self._output, self._limit, len(self.state.shards)))
                self._writer = self._format.open(os.path.join(self._place, name), self._settings)
            rows = splits[first : last + 1]
            if packed is None:
                self._writer.write(ids, rows)
            else:
                begin, end = packed.pieces.searchsorted(rows[[0, -1]])
                self._writer.write(ids, rows, packed.pieces[begin : end + 1])
                self._padding += int(packed.padding[first:last].sum())
            first = last

    def finish(self, changes: dict[str, Any]) -> None:
        """There is no document left; `changes` is what the state says then."""
        if self._writer is not None:
            self._finish(changes)
        else:
            self.save(changes)

    def save(self, changes: dict[str, Any]) -> None:
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

    def abort(self) -> None:
        """Remove what is not finished."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

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

    def _finish(self, changes: dict[str, Any]) -> None:
        assert self._writer is not None
        self._theirs()  # before files appear
        written = self._writer.finish()
        self._storage.publish(self._place, os.path.dirname(self._output), written)
        files = [file._asdict() for file in written]
        name = os.path.basename(self._writer.prefix)
        rows = {"documents": self._writer.documents}
        if self._settings.sequence_length is not None:
            rows = {"sequences": self._writer.documents, "padding": self._padding}
        shard = {"name": name, **rows, "tokens": self._writer.tokens, "files": files}
        self._writer, self._padding = None, 0
        self.save({**changes, "shards": (*self.state.shards, shard)})


def prefix_of(output: str, limit: int | None, index: int) -> str:
    """The prefix of a shard's files, by its number from 0."""
    return output if limit is None else f"{output}_{index:05d}"


_as_json = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for each record


class BadRecords:
    """The list of bad records, in files that each have what came after the last one."""

    def __init__(self, beside: str, ends: tuple[int, ...]) -> None:
        """`beside`: the state's path without its ending. `ends`: where the files that are there end."""
        self.ends, self._beside, self._storage = ends, beside, storage.of(beside)
        self._unwritten = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115

    def add(self, records: Iterable[BadRecord]) -> None:
        """Put records after the others."""
        for record in records:
            fields = {"file": record.address, record.what: record.number, "reason": record.reason}
            self._unwritten.write(_as_json(fields).encode("utf-8", "backslashreplace") + b"\n")

    def sync(self) -> tuple[int, ...]:
        """Bring them to the disk; where the files end."""
        if size := self._unwritten.tell():
            ends = (*self.ends, (self.ends[-1] if self.ends else 0) + size)
            self._storage.place(bad_records_files(self._beside, ends)[-1], self._new())
            self._unwritten.seek(0)
            self._unwritten.truncate()
            self.ends = ends
        return self.ends

    def finish(self) -> tuple[int, ...]:
        """Bring all to the disk as one file; where it ends."""
        size = (self.ends[-1] if self.ends else 0) + self._unwritten.tell()
        path = f"{self._beside}.bad-records.jsonl"
        if size and self._storage.size(path) != size:
            self._storage.place(path, self._all())
        return (size,) if size else ()

    def close(self) -> None:
        """Forget those that were not brought to the disk."""
        self._unwritten.close()

    def _all(self) -> Iterator[bytes]:
        for path in bad_records_files(self._beside, self.ends):
            data = self._storage.read(path)
            if data is None:
                raise gone(path)
            yield data
        yield from self._new()

    def _new(self) -> Iterator[bytes]:
        self._unwritten.seek(0)
        return iter(lambda: self._unwritten.read(1 << 20), b"")


def bad_records_files(beside: str, ends: Sequence[int]) -> list[str]:
    """The files of bad records that a state names which is not done."""
    return [f"{beside}.bad-records.{begin}-{end}.jsonl" for begin, end in zip((0, *ends), ends, strict=False)]

"""Ids to the files of one shard after the other, and the state after each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.formats import FORMATS, ShardSettings, ShardWriter
from crayon_hf.corpora.job.state import State

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crayon_hf.corpora.job.sequences import Sequences
    from crayon_hf.corpora.storage import Desk
    from crayon_hf.text_readers.documents import BadRecord


class Shards:
    """The files of ``output``; with `limit` those of ``output_00000``, ``output_00001``, ... of at most so many tokens.

    A document is never cut: one that has more tokens than the limit is a shard of its own. A shard is finished when a
    document comes that has no room in it, so it does not matter how documents are divided among calls of `write`.
    """

    def __init__(
        self, format: str, output: str, settings: ShardSettings, limit: int | None, state: State, path: str, desk: Desk
    ) -> None:
        """`state` is that of the file at `path`; its finished shards are there. Files are made on the `desk`."""
        self.state = state
        self._format, self._settings = FORMATS[format], settings
        self._output, self._limit, self._path, self._desk = output, limit, path, desk
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
                self._prefix = prefix_of(self._output, self._limit, len(self.state.shards))
                self._writer = self._format.open(self._desk.prefix(self._prefix), self._settings)
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
        """Replace the state."""
        self.state = self.state._replace(**changes)
        self.state.save(self._path)

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
        written = self._writer.finish()
        self._desk.publish(self._prefix, written)
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
    """The list of bad records, of which the state says how many bytes count."""

    def __init__(self, path: str, size: int, desk: Desk) -> None:
        """Begin after `size` bytes; there is no file before there is a record."""
        self._path, self.size, self._desk = path, size, desk
        self._unwritten: list[bytes] = []
        if os.path.exists(path):
            os.truncate(path, size)

    def add(self, records: Iterable[BadRecord]) -> None:
        """Put records after the others."""
        for record in records:
            fields = {"file": record.address, record.what: record.number, "reason": record.reason}
            self._unwritten.append(_as_json(fields).encode("utf-8", "backslashreplace") + b"\n")
        if len(self._unwritten) > 10_000:
            self.sync()

    def sync(self) -> int:
        """Bring them to the disk; how many bytes there are."""
        if self._unwritten:
            with open(self._path, "ab") as file:
                file.writelines(self._unwritten)
                file.flush()
                os.fsync(file.fileno())
                self.size = file.tell()
            self._desk.keep(self._path)
            self._unwritten = []
        return self.size

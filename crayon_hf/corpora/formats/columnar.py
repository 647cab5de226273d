"""Formats written with pyarrow: a column ``input_ids``, a list of int32 for each document.

Packed sequences have a second column, ``seq_lengths``. Documents are gathered in groups of bounded size, which do not
depend on how calls divide the documents.
"""

from __future__ import annotations

import contextlib
import io
import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter, Vocabulary
from crayon_hf.corpora.formats.output import Output
from crayon_hf.util.extras import needed

COLUMN = "input_ids"
"""The column of ids, int32 as ``datasets`` uses for this name."""
LENGTHS = "seq_lengths"
"""The column of packed sequences that has the lengths of their pieces, named as by TRL's ``pack_dataset``."""


class Groups:
    """Gathers documents into groups of at most `rows` documents and `tokens` tokens. A longer document is alone."""

    def __init__(self, rows: int, tokens: int) -> None:
        self._most_rows, self._most_tokens = rows, tokens
        self._rows = self._tokens = 0
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []

    def add(
        self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]
    ) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """Add documents and yield the groups that are full, as ids and lengths of documents."""
        ends = np.cumsum(lengths)
        done = position = 0
        while done < len(lengths):
            fit = int(np.searchsorted(ends[done:], position + self._most_tokens - self._tokens, side="right"))
            fit = min(fit, self._most_rows - self._rows)
            if fit == 0 and self._rows:
                yield self.rest()
                continue
            stop = done + max(fit, 1)
            end = int(ends[stop - 1])
            self._ids.append(ids[position:end])
            self._lengths.append(lengths[done:stop])
            self._rows += stop - done
            self._tokens += end - position
            done, position = stop, end
            if self._rows == self._most_rows:
                yield self.rest()
        if self._ids:  # the caller may reuse the array
            self._ids[-1] = self._ids[-1].copy()

    def rest(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Take the group that is not full, and begin an empty one."""
        ids, lengths = self._ids, self._lengths
        self._ids, self._lengths = [], []
        self._rows = self._tokens = 0
        return np.concatenate(ids), np.concatenate(lengths)

    def __len__(self) -> int:
        """Documents in the group that is not full."""
        return self._rows


def list_array(ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> Any:
    """A ``pyarrow.ListArray`` that shares the memory of `ids`."""
    import pyarrow

    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(ids))


def pyarrow_for(prefix: str) -> Any:
    """Import pyarrow.

    Raises:
        MissingExtraError: It is not installed.
    """
    with needed(f"{prefix}: this format", "corpora"):
        import pyarrow
    return pyarrow


class Sink(io.RawIOBase):
    """A file object for pyarrow that writes to an output and does not close it."""

    def __init__(self, output: Output) -> None:
        self._output: Output | None = output

    def mute(self) -> None:
        """Discard all later writes."""
        self._output = None

    def write(self, data: Any) -> int:
        return self._output.write(data) if self._output else len(data)

    def tell(self) -> int:
        return self._output.size if self._output else 0

    def writable(self) -> bool:
        return True


class _Writer(ShardWriter):
    """The base of the writers. `_begin` sets `_writer` to a writer of pyarrow that writes to `_open_sink()`."""

    _longest = (1 << 31) - 1  # the offsets of an Arrow list are int32
    _writer: Any

    def __init__(self, format: Format, prefix: str, settings: ShardSettings) -> None:
        super().__init__(format, prefix, settings)
        assert isinstance(format, _Columnar)
        self._groups = Groups(*format.limits)
        self.columns = (COLUMN,) if settings.sequence_length is None else (COLUMN, LENGTHS)
        """The names of the columns, each a list of int32."""
        self._pieces: list[npt.NDArray[np.int64]] = []
        """Lengths of the pieces in the group that is not full."""

    def _open_sink(self) -> Sink:
        self._sink = Sink(self._output(self._format.files(self.prefix)[0]))
        self._stack.callback(self._mute)
        return self._sink

    def _schema(self, pyarrow: Any, metadata: dict[str, str] | None = None) -> Any:
        return pyarrow.schema([(name, pyarrow.list_(pyarrow.int32())) for name in self.columns], metadata=metadata)

    @abstractmethod
    def _write_columns(self, columns: list[Any], rows: int) -> None:
        """Write a group of `rows` documents, one pyarrow array for each column."""

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        if len(self.columns) > 1:
            self._pieces.append(pieces)
        for group in self._groups.add(ids, lengths):
            self._write_group(*group)

    def _end(self) -> None:
        if len(self._groups):
            self._write_group(*self._groups.rest())
        self._writer.close()

    def _write_group(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        columns = [list_array(ids, lengths)]
        if len(self.columns) > 1:
            pieces = np.concatenate(self._pieces)
            ends = np.cumsum(pieces).searchsorted(np.cumsum(lengths)) + 1  # the end of each sequence, in pieces
            self._pieces = [pieces[ends[-1] :]]
            columns.append(list_array(pieces[: ends[-1]].astype("<i4"), np.diff(ends, prepend=0)))
        self._write_columns(columns, len(lengths))

    def _mute(self) -> None:
        with contextlib.suppress(Exception):  # it may be closed already
            self._sink.mute()  # closing or deleting pyarrow's writer writes the end of the file
            self._writer.close()


class _Columnar(Format):
    """A format of one file a shard, with documents in groups."""

    has_rows = True

    limits: tuple[int, int]
    """The most documents and tokens in a group."""

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """int32."""
        return np.dtype("<i4")

    def files(self, prefix: str) -> list[str]:
        return [f"{prefix}.{self.name}"]


class _ParquetWriter(_Writer):
    def _begin(self) -> None:
        pyarrow = pyarrow_for(self.prefix)
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(
            self._open_sink(), self._schema(pyarrow), compression="zstd", use_dictionary=False, write_statistics=False
        )

    def _write_columns(self, columns: list[Any], rows: int) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_arrays(columns, schema=self._writer.schema), row_group_size=rows)


class Parquet(_Columnar):
    """Parquet for pyarrow and ``datasets``. A text without tokens is an empty list.

    It has no metadata, because every version of ``datasets`` infers the column's type. Files are compressed with zstd,
    without a dictionary, which takes half the time for about the same size.
    """

    name = "parquet"
    _writer = _ParquetWriter

    def __init__(self, rows: int = 1 << 20, tokens: int = 1 << 23) -> None:
        """`rows` and `tokens` limit a row group, which is gathered in memory."""
        self.limits = rows, tokens


_FEATURE = {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"}


class _ArrowWriter(_Writer):
    def _begin(self) -> None:
        pyarrow = pyarrow_for(self.prefix)
        features = dict.fromkeys(self.columns, _FEATURE)
        self._known = self._schema(pyarrow, {"huggingface": json.dumps({"info": {"features": features}})})
        self._writer = pyarrow.ipc.new_stream(self._open_sink(), self._known)

    def _write_columns(self, columns: list[Any], rows: int) -> None:
        import pyarrow

        self._writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=self._known))


class Arrow(_Columnar):
    """An Arrow stream file, like that of the ``ArrowWriter`` of ``datasets`` 4 and later. A text without tokens is an
    empty list.

    ``datasets.Dataset.from_file(path)`` maps it, with the feature ``List(Value("int32"))`` from the schema's metadata.
    ``pyarrow.ipc.open_stream`` reads it, too.
    """

    name = "arrow"
    _writer = _ArrowWriter

    def __init__(self, rows: int = 1000, tokens: int = 1 << 24) -> None:
        """`rows` and `tokens` limit a record batch, which is gathered in memory. The default of `rows` is that of
        ``datasets``, which has no limit of tokens: its batches differ where 1000 documents exceed `tokens`."""
        self.limits = rows, tokens

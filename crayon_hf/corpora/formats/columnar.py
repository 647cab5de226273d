"""Formats written with pyarrow: a column ``input_ids``, a list of int32 for each document.

Packed sequences have a second column, ``seq_lengths``. Documents are gathered in groups of bounded size, which do not
depend on how calls divide the documents.
"""

from __future__ import annotations

import contextlib
import io
import json
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter
from crayon_hf.corpora.formats.groups import Groups
from crayon_hf.corpora.formats.output import Output
from crayon_hf.util.extras import needed

COLUMN = "input_ids"
"""The column of ids, int32 as ``datasets`` uses for this name."""
MOST_IDS = (1 << 31) - 1
"""The most ids in an array of ``list<int32>``, whose offsets are 32 bits wide."""
LENGTHS = "seq_lengths"
"""The column of packed sequences that has the lengths of their pieces, named as by TRL's ``pack_dataset``."""


def list_array(ids: npt.NDArray[Any], splits: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_] | None = None) -> Any:
    """A ``pyarrow.ListArray`` that shares the memory of `ids`, or a ``LargeListArray`` above `MOST_IDS` ids.

    `splits` are the edges of the lists in `ids`, beginning with 0. `valid` tells which rows are not null.
    """
    import pyarrow as pa

    kind, width = (pa.ListArray, np.int32) if len(ids) <= MOST_IDS else (pa.LargeListArray, np.int64)
    mask = None if valid is None else pa.array(~valid)
    return kind.from_arrays(pa.array(splits.astype(width, copy=False)), pa.array(ids), mask=mask)


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

    _longest = MOST_IDS
    _writer: Any

    def __init__(self, format: Format, prefix: str, settings: ShardSettings) -> None:
        with needed(f"{prefix}: this format", "corpora"):
            import pyarrow
        super().__init__(format, prefix, settings)
        assert isinstance(format, _Columnar)
        self._pyarrow = pyarrow
        self._groups = Groups(*format.limits)
        self.columns = (COLUMN,) if settings.sequence_length is None else (COLUMN, LENGTHS)
        """The names of the columns, each a list of int32."""
        self._schema = pyarrow.schema([(name, pyarrow.list_(pyarrow.int32())) for name in self.columns])
        self._pieces: list[npt.NDArray[np.int64]] = []
        """Lengths of the pieces in the group that is not full."""

    def _open_sink(self) -> Sink:
        self._sink = Sink(self._output(self._format.files(self.prefix)[0]))
        self._stack.callback(self._mute)
        return self._sink

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

    def _write_group(self, ids: list[npt.NDArray[Any]], lengths: npt.NDArray[np.int64]) -> None:
        columns = [list_array(np.concatenate(ids), np.concatenate([[0], np.cumsum(lengths)]))]
        if len(self.columns) > 1:
            pieces = np.concatenate(self._pieces)
            ends = np.cumsum(pieces).searchsorted(np.cumsum(lengths)) + 1  # the end of each sequence, in pieces
            self._pieces = [pieces[ends[-1] :]]
            columns.append(list_array(pieces[: ends[-1]].astype("<i4"), np.concatenate([[0], ends])))
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

    def files(self, prefix: str) -> list[str]:
        return [f"{prefix}.{self.name}"]


class _ParquetWriter(_Writer):
    def _begin(self) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(
            self._open_sink(), self._schema, compression="zstd", use_dictionary=False, write_statistics=False
        )

    def _write_columns(self, columns: list[Any], rows: int) -> None:
        self._writer.write_table(self._pyarrow.Table.from_arrays(columns, schema=self._schema), row_group_size=rows)


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
        features = dict.fromkeys(self.columns, _FEATURE)
        self._schema = self._schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        self._writer = self._pyarrow.ipc.new_stream(self._open_sink(), self._schema)

    def _write_columns(self, columns: list[Any], rows: int) -> None:
        self._writer.write_batch(self._pyarrow.RecordBatch.from_arrays(columns, schema=self._schema))


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

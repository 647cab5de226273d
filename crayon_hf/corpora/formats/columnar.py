"""Formats that pyarrow writes, of one column ``input_ids``, a list of int32 for each document; with sequences there is
another one, ``seq_lengths``. Documents come together in groups of a bounded size, the same ones whatever the calls.
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
"""Of int32, as ``datasets`` has for a column of this name."""
LENGTHS = "seq_lengths"
"""With sequences: how many tokens each piece of a document in one has, as TRL's ``pack_dataset`` calls it."""


class Groups:
    """As many documents to a group as fit into both limits; a document longer than `tokens` is a group of its own."""

    def __init__(self, rows: int, tokens: int) -> None:
        self._most_rows, self._most_tokens = rows, tokens
        self._rows = self._tokens = 0
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []

    def add(
        self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]
    ) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """The groups that became full; each is ids, and the lengths of its documents."""
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
        if self._ids:  # the caller may use the array again
            self._ids[-1] = self._ids[-1].copy()

    def rest(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """The group that is not full; there is an empty one after it."""
        ids, lengths = self._ids, self._lengths
        self._ids, self._lengths = [], []
        self._rows = self._tokens = 0
        return np.concatenate(ids), np.concatenate(lengths)

    def __len__(self) -> int:
        """Documents that wait."""
        return self._rows


def list_array(ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> Any:
    """A ``pyarrow.ListArray`` over the ids themselves."""
    import pyarrow

    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(ids))


def pyarrow_for(prefix: str) -> Any:
    """The library.

    Raises:
        MissingExtraError: It is not installed.
    """
    with needed(f"{prefix}: this format", "corpora"):
        import pyarrow
    return pyarrow


class Sink(io.RawIOBase):
    """What pyarrow writes to: an output, or nothing any more. The output is not pyarrow's to close."""

    def __init__(self, output: Output) -> None:
        self._output: Output | None = output

    def mute(self) -> None:
        """Take what comes from now on and do nothing with it."""
        self._output = None

    def write(self, data: Any) -> int:
        return self._output.write(data) if self._output else len(data)

    def tell(self) -> int:
        return self._output.size if self._output else 0

    def writable(self) -> bool:
        return True


class _Writer(ShardWriter):
    """`_begin` has to make the `_writer` of pyarrow, over what `_open_sink` gives."""

    _longest = (1 << 31) - 1  # the offsets of an Arrow list are int32
    _writer: Any

    def __init__(self, format: Format, prefix: str, settings: ShardSettings) -> None:
        super().__init__(format, prefix, settings)
        assert isinstance(format, _Columnar)
        self._groups = Groups(*format.limits)
        self.columns = (COLUMN,) if settings.sequence_length is None else (COLUMN, LENGTHS)
        """Their names; each is a list of int32."""
        self._pieces: list[npt.NDArray[np.int64]] = []
        """Of the documents that wait."""

    def _open_sink(self) -> Sink:
        self._sink = Sink(self._output(self._format.files(self.prefix)[0]))
        self._stack.callback(self._mute)
        return self._sink

    def _schema(self, pyarrow: Any, metadata: dict[str, str] | None = None) -> Any:
        return pyarrow.schema([(name, pyarrow.list_(pyarrow.int32())) for name in self.columns], metadata=metadata)

    @abstractmethod
    def _write_columns(self, columns: list[Any], rows: int) -> None:
        """A group: an array of pyarrow for each column."""

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
            ends = np.cumsum(pieces).searchsorted(np.cumsum(lengths)) + 1  # of each sequence, in pieces
            self._pieces = [pieces[ends[-1] :]]
            columns.append(list_array(pieces[: ends[-1]].astype("<i4"), np.diff(ends, prepend=0)))
        self._write_columns(columns, len(lengths))

    def _mute(self) -> None:
        with contextlib.suppress(Exception):  # it may be closed already
            self._sink.mute()  # pyarrow writes the end of the file whenever it can
            self._writer.close()


class _Columnar(Format):
    """One file a shard, of groups of documents."""

    has_rows = True

    limits: tuple[int, int]
    """At most so many documents and tokens in a group."""

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
    """pyarrow and ``datasets`` read it. A text without tokens is an empty list. No metadata: every version of
    ``datasets`` finds the column's type. Packed with zstd, without a dictionary: half the time of a dictionary's, for
    files of about the same size."""

    name = "parquet"
    _writer = _ParquetWriter

    def __init__(self, rows: int = 1 << 20, tokens: int = 1 << 23) -> None:
        """At most these in a row group, which is what memory holds."""
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
    """A stream file, as the ``ArrowWriter`` of ``datasets`` 4 and later writes it. A text without tokens is an empty
    list.

    ``datasets.Dataset.from_file(path)`` maps it, and knows the column as ``List(Value("int32"))`` from the schema's
    metadata; ``pyarrow.ipc.open_stream`` reads it as well.
    """

    name = "arrow"
    _writer = _ArrowWriter

    def __init__(self, rows: int = 1000, tokens: int = 1 << 24) -> None:
        """At most these in a record batch. `rows` is as ``datasets`` has it; it has no limit to the tokens, which are
        what memory holds, so its bytes are others where 1000 documents have more than that."""
        self.limits = rows, tokens

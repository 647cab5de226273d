"""Parquet: one column ``input_ids``, a list of int32 for each document; pyarrow and ``datasets`` read it.

Packed with zstd, without a dictionary: half the time of a dictionary's, for files of about the same size.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.formats import groups
from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter, Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crayon_hf.corpora.formats.output import Output

COLUMN = "input_ids"


class Parquet(Format):
    """A text without tokens is an empty list. No metadata: every version of ``datasets`` finds the column's type."""

    name = "parquet"

    def __init__(self, rows: int = 1 << 20, tokens: int = 1 << 23) -> None:
        """At most these in a row group, which is what memory holds."""
        self._limits = rows, tokens

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """int32."""
        import numpy as np

        return np.dtype("<i4")

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".parquet"]

    def _writer(self, prefix: str, dtype: np.dtype[Any], settings: ShardSettings) -> ShardWriter:
        return _Writer(self, prefix, dtype, groups.Groups(*self._limits))


class _Writer(ShardWriter):
    _longest = groups.LONGEST

    def __init__(self, format: Format, prefix: str, dtype: np.dtype[Any], waiting: groups.Groups) -> None:
        super().__init__(format, prefix, dtype)
        self._groups = waiting

    def _begin(self) -> None:
        pyarrow = groups.pyarrow(self.prefix)
        from pyarrow import parquet

        self._schema = pyarrow.schema([(COLUMN, pyarrow.list_(pyarrow.int32()))])
        self._sink = Sink(self._output(self._format.files(self.prefix)[0]))
        self._writer = parquet.ParquetWriter(
            self._sink, self._schema, compression="zstd", use_dictionary=False, write_statistics=False
        )

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        for group in self._groups.add(ids, lengths):
            self._write_group(*group)

    def _write_group(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        import pyarrow

        table = pyarrow.Table.from_arrays([groups.list_array(ids, lengths)], schema=self._schema)
        self._writer.write_table(table, row_group_size=len(lengths))

    def _end(self) -> None:
        if len(self._groups):
            self._write_group(*self._groups.rest())
        self._writer.close()

    def _discard(self) -> None:
        with contextlib.suppress(Exception):
            self._sink.mute()  # pyarrow writes the end of the file whenever it can
            self._writer.close()
        super()._discard()


class Sink:
    """What pyarrow writes to: an output, or nothing any more. It is not pyarrow's to close."""

    closed = False

    def __init__(self, output: Output) -> None:
        self._output: Output | None = output

    def mute(self) -> None:
        """Take what comes from now on and do nothing with it."""
        self._output = None

    def write(self, data: Any) -> int:
        """All of it."""
        return self._output.write(data) if self._output else len(data)

    def tell(self) -> int:
        """Bytes so far."""
        return self._output.size if self._output else 0

    def flush(self) -> None:
        """Nothing: `finish` does it."""

    def close(self) -> None:
        """Nothing: `finish` does it."""

    def readable(self) -> bool:
        """No."""
        return False

    def writable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """No."""
        return False

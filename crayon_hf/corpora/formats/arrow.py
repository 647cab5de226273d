"""Arrow: a stream file of one column ``input_ids``, as the ``ArrowWriter`` of ``datasets`` 4 and later writes it.

``datasets.Dataset.from_file(path)`` maps it, and knows the column as ``List(Value("int32"))`` from the schema's
metadata; ``pyarrow.ipc.open_stream`` reads it as well.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.formats import groups
from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter, Vocabulary
from crayon_hf.corpora.formats.parquet import COLUMN, Sink

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FEATURES = {COLUMN: {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"}}


class Arrow(Format):
    """A text without tokens is an empty list."""

    name = "arrow"

    def __init__(self, rows: int = 1000, tokens: int = 1 << 24) -> None:
        """At most these in a record batch. `rows` is as ``datasets`` has it; it has no limit to the tokens, which are
        what memory holds, so its bytes are others where 1000 documents have more than that."""
        self._limits = rows, tokens

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """int32, as ``datasets`` has for a column of this name."""
        import numpy as np

        return np.dtype("<i4")

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".arrow"]

    def _writer(self, prefix: str, dtype: np.dtype[Any], settings: ShardSettings) -> ShardWriter:
        return _Writer(self, prefix, dtype, groups.Groups(*self._limits))


class _Writer(ShardWriter):
    _longest = groups.LONGEST

    def __init__(self, format: Format, prefix: str, dtype: np.dtype[Any], waiting: groups.Groups) -> None:
        super().__init__(format, prefix, dtype)
        self._groups = waiting

    def _begin(self) -> None:
        pyarrow = groups.pyarrow(self.prefix)
        self._schema = pyarrow.schema(
            [(COLUMN, pyarrow.list_(pyarrow.int32()))],
            metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
        )
        self._sink = Sink(self._output(self._format.files(self.prefix)[0]))
        self._writer = pyarrow.ipc.new_stream(self._sink, self._schema)

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        for group in self._groups.add(ids, lengths):
            self._write_group(*group)

    def _write_group(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        import pyarrow

        self._writer.write_batch(
            pyarrow.RecordBatch.from_arrays([groups.list_array(ids, lengths)], schema=self._schema)
        )

    def _end(self) -> None:
        if len(self._groups):
            self._write_group(*self._groups.rest())
        self._writer.close()

    def _discard(self) -> None:
        with contextlib.suppress(Exception):
            self._sink.mute()  # pyarrow writes the end of the stream whenever it can
            self._writer.close()
        super()._discard()

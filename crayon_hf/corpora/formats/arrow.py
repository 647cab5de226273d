"""Arrow: a stream file of one column ``input_ids``, as the ``ArrowWriter`` of ``datasets`` 4 and later writes it. With
sequences there is another one, ``seq_lengths``.

``datasets.Dataset.from_file(path)`` maps it, and knows the column as ``List(Value("int32"))`` from the schema's
metadata; ``pyarrow.ipc.open_stream`` reads it as well.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from crayon_hf.corpora.formats.base import ShardSettings, ShardWriter
from crayon_hf.corpora.formats.groups import GroupedFormat, GroupedWriter, Groups, pyarrow_for

_FEATURE = {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"}


class Arrow(GroupedFormat):
    """A text without tokens is an empty list."""

    name = "arrow"

    def __init__(self, rows: int = 1000, tokens: int = 1 << 24) -> None:
        """At most these in a record batch. `rows` is as ``datasets`` has it; it has no limit to the tokens, which are
        what memory holds, so its bytes are others where 1000 documents have more than that."""
        super().__init__(rows, tokens)

    def _writer(self, prefix: str, dtype: np.dtype[Any], settings: ShardSettings) -> ShardWriter:
        return _Writer(self, prefix, dtype, settings, Groups(*self._limits))


class _Writer(GroupedWriter):
    def _begin(self) -> None:
        pyarrow = pyarrow_for(self.prefix)
        features = dict.fromkeys(self.columns, _FEATURE)
        self._known = self._schema(pyarrow, {"huggingface": json.dumps({"info": {"features": features}})})
        self._writer = pyarrow.ipc.new_stream(self._open_sink(), self._known)

    def _write_columns(self, columns: list[Any], rows: int) -> None:
        import pyarrow

        self._writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=self._known))

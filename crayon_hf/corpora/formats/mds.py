"""MosaicML Streaming: a directory of ``shard.NNNNN.mds`` and their ``index.json``, one sample for each document.

The column is LLM Foundry's, ``tokens`` as ``ndarray:int32``. The bytes are those of ``streaming``'s ``MDSWriter`` with
its defaults. A shard file has, little-endian:

- ``uint32 n``: the number of samples
- ``uint32[n + 1]``: byte of the file where each sample begins, and where the last one ends
- JSON: the writer's settings
- ``n`` samples:

    - ``uint32``: bytes of the rest of the sample
    - ``uint8``: 4 * axes + 0, 1 or 2 for a length of type uint8, uint16 or uint32
    - the length, in tokens
    - ``int32[]``: the tokens

``MDSWriter`` refuses an empty array. Here a text without tokens becomes one, and ``StreamingDataset`` reads it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardWriter
from crayon_hf.corpora.formats.groups import Groups
from crayon_hf.corpora.formats.output import named
from crayon_hf.util.files import sync_directory

INDEX = "index.json"
_CONFIG: dict[str, Any] = {
    "column_encodings": ["ndarray:int32"],
    "column_names": ["tokens"],
    "column_sizes": [None],
    "compression": None,
    "format": "mds",
    "hashes": [],
    "version": 2,
}


class _Writer(ShardWriter):
    """Holds the samples of one file in memory, up to `size_limit` bytes or one larger document."""

    _longest = ((1 << 32) - (1 << 12)) // 4
    """The most tokens of a document, so that the byte offsets in its file fit into uint32."""

    def _begin(self) -> None:
        """Start without files: each is created when its samples are complete."""
        assert isinstance(self._format, Mds)
        limit = self._format.size_limit
        self._config: dict[str, Any] = {**_CONFIG, "size_limit": limit}
        self._config_bytes = json.dumps(self._config, sort_keys=True).encode()
        self._shards: list[dict[str, Any]] = []
        self._most = limit - 8 - len(self._config_bytes)
        self._groups = Groups(1 << 32, self._most)

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        sizes = _sizes(lengths)
        if not self.documents and len(sizes) and sizes[0] + 4 > self._most:
            self._flush([], sizes[:0])  # an empty file if the very first sample is too large, like MDSWriter
        for group in self._groups.add(_encode(ids, lengths), sizes, sizes + 4):  # 4 bytes for each offset
            self._flush(*group)

    def _flush(self, samples: list[npt.NDArray[np.uint8]], sizes: npt.NDArray[np.int64]) -> None:
        count = len(sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes)]) + 4 + 4 * (count + 1) + len(self._config_bytes)
        name = f"shard.{len(self._shards):05}.mds"
        parts = [np.uint32(count).tobytes(), offsets.astype("<u4"), self._config_bytes, *samples]
        raw = {"basename": name, "bytes": self._write_file(name, parts), "hashes": {}}
        self._shards.append({**self._config, "raw_data": raw, "samples": count, "zip_data": None})

    def _write_file(self, name: str, pieces: Iterable[Any]) -> int:
        """Write a file and return its size in bytes."""
        output = self._output(os.path.join(self.prefix, name))
        for piece in pieces:
            output.write(piece)
        output.sync()
        return output.size

    def _end(self) -> None:
        if len(self._groups):
            self._flush(*self._groups.rest())
        data = json.dumps({"shards": self._shards, "version": 2}, sort_keys=True).encode()
        self._write_file(INDEX, [data])

    def _place(self) -> None:
        with named(self.prefix):
            os.makedirs(self.prefix, exist_ok=True)
        try:
            super()._place()
        except BaseException:
            with contextlib.suppress(OSError):  # the directory has earlier files
                os.rmdir(self.prefix)
            raise
        sync_directory(os.path.dirname(self.prefix) or ".")


class Mds(Format):
    """A directory for each shard, and one ``index.json`` over all of them (`merge`)."""

    name = "mds"
    has_rows = True
    merged_file = INDEX
    _writer = _Writer

    def __init__(self, size_limit: int = 1 << 26) -> None:
        """`size_limit` is that of a file in bytes, as for ``MDSWriter``. A file of one document may be larger."""
        self.size_limit = size_limit

    def files(self, prefix: str) -> list[str]:
        return [prefix]

    def writes(self, name: str) -> bool:
        return re.fullmatch(r".+/(index\.json|shard\.\d{5,}\.mds)", name) is not None

    def merge(self, shards: Iterable[tuple[str, bytes]]) -> bytes:
        """Return ``index.json`` as ``streaming.base.util.merge_index`` does, for ``StreamingDataset(local=OUT)``."""
        merged = []
        for name, index in shards:
            for entry in json.loads(index)["shards"]:
                entry["raw_data"]["basename"] = f"{name}/{entry['raw_data']['basename']}"
                merged.append(entry)
        return json.dumps({"version": 2, "shards": merged}).encode()


def _sizes(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bytes of each sample in a file, for samples of `lengths` tokens."""
    return 5 + np.where(lengths < 1 << 8, 1, np.where(lengths < 1 << 16, 2, 4)) + 4 * lengths


def _encode(ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Serialize consecutive samples, whose tokens are `ids`."""
    sizes = _sizes(lengths)
    starts = np.cumsum(sizes) - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    is_tokens = np.ones(len(data), bool)
    for code, dtype in enumerate(("<u1", "<u2", "<u4")):
        chosen = np.flatnonzero((sizes - 4 * lengths) == 5 + (1 << code))
        head = np.empty(len(chosen), [("bytes", "<u4"), ("shape", "u1"), ("length", dtype)])
        head["bytes"], head["shape"], head["length"] = sizes[chosen] - 4, 4 | code, lengths[chosen]
        places = starts[chosen, None] + np.arange(head.itemsize)
        data[places] = head.view("u1").reshape(places.shape)
        is_tokens[places] = False
    data[is_tokens] = ids.view("u1")
    return data

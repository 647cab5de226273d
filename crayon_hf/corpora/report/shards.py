"""Read the documents of finished token files of any format, in blocks of bounded size."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.errors import JobError
from crayon_hf.util.extras import needed

_TOKENS = 1 << 20
"""Approximate tokens of a block. A longer document is a block of its own."""
_ROWS = 1 << 16


Block = tuple[npt.NDArray[Any], npt.NDArray[np.int64]]
"""The ids of some documents, or sequences of one length, and the lengths of the documents, or of their pieces if the
files record them, otherwise of the sequences."""


def blocks_of(format: str, prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    """Yield the documents of the shard `prefix` in blocks. Raises JobError if its files are damaged."""
    try:
        if format in ("parquet", "arrow"):
            yield from _columns(format, prefix, is_packed)
        elif format == "mds":
            yield from _mds(prefix)
        else:
            yield from _flat(*_ARRAYS[format](prefix, dtype))
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise JobError(f"{prefix} cannot be read ({type(error).__name__}: {error}): tokenize it again") from error


def _flat(tokens: npt.NDArray[Any], ends: npt.NDArray[Any]) -> Iterator[Block]:
    """Yield blocks of consecutive documents; `ends` has the end of each document, in tokens."""
    first = begin = 0
    while first < len(ends):
        last = int(np.searchsorted(ends[first : first + _ROWS], begin + _TOKENS, side="right")) + first
        last = max(last, first + 1)
        stop = int(ends[last - 1])
        if stop > len(tokens):
            raise ValueError(f"{len(tokens)} tokens, but a document ends at {stop}")
        yield tokens[begin:stop], np.diff(ends[first:last].astype(np.int64), prepend=begin)
        first, begin = last, stop


def _mapped(path: str, dtype: str) -> npt.NDArray[Any]:
    return np.memmap(path, dtype, "r") if os.path.getsize(path) else np.zeros(0, dtype)


def _edges(prefix: str) -> npt.NDArray[Any]:
    edges: npt.NDArray[Any] = np.load(f"{prefix}.row_splits.npy", mmap_mode="r")
    return edges[1:]


def _megatron(prefix: str, dtype: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    with open(f"{prefix}.idx", "rb") as file:
        head = file.read(34)
    if head[:9] != b"MMIDIDX\0\0" or len(head) < 34:
        raise ValueError("not an index of Megatron-LM")
    sequences, documents = (int.from_bytes(head[i : i + 8], "little") for i in (18, 26))
    lengths = np.fromfile(f"{prefix}.idx", "<i4", sequences, offset=34)
    edges = np.fromfile(f"{prefix}.idx", "<i8", documents, offset=34 + 12 * sequences)
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return _mapped(f"{prefix}.bin", dtype), ends[edges[1:]]


_ARRAYS: dict[str, Callable[[str, str], tuple[npt.NDArray[Any], npt.NDArray[Any]]]] = {
    "npy": lambda prefix, dtype: (np.load(f"{prefix}.npy", mmap_mode="r").reshape(-1), _edges(prefix)),
    "bin": lambda prefix, dtype: (_mapped(f"{prefix}.bin", dtype), _edges(prefix)),
    "datatrove": lambda prefix, dtype: (_mapped(f"{prefix}.ds", dtype), _mapped(f"{prefix}.ds.index", "<u8")),
    "megatron": _megatron,
}
"""Functions that return all tokens of a shard, and the end of each document in tokens."""


def _columns(format: str, prefix: str, is_packed: bool) -> Iterator[Block]:
    path = f"{prefix}.{format}"
    with needed(path, "corpora"):
        import pyarrow
        from pyarrow import parquet
    with pyarrow.memory_map(path) as file:
        is_parquet = format == "parquet"
        for batch in parquet.ParquetFile(file).iter_batches(4096) if is_parquet else pyarrow.ipc.open_stream(file):
            ids = batch.column("input_ids")
            lengths = batch.column("seq_lengths").flatten() if is_packed else ids.value_lengths()
            yield ids.flatten().to_numpy(zero_copy_only=False), lengths.to_numpy(zero_copy_only=False).astype(np.int64)


def _mds(prefix: str) -> Iterator[Block]:
    with open(os.path.join(prefix, "index.json"), "rb") as file:
        shards = json.load(file)["shards"]
    for shard in shards:
        data = _mapped(os.path.join(prefix, shard["raw_data"]["basename"]), "u1")
        count = int(data[:4].view("<u4")[0])
        offsets = data[4 : 8 + 4 * count].view("<u4").astype(np.int64)
        for first in range(0, count, 4096):
            ends = offsets[first + 1 : first + 4097]
            begins = offsets[first : first + len(ends)]
            begins = begins + 5 + (1 << (data[begins + 4] & 3).astype(np.int64))  # after the sample's header
            tokens = [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
            yield np.concatenate(tokens).view("<i4"), (ends - begins) // 4

"""Read the documents of finished token files of any format, in blocks of bounded size."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.errors import JobError
from crayon_hf.util.extras import needed

_TOKENS = 1 << 20
"""Approximate tokens of a block. A longer document is a block of its own."""
_ROWS = 1 << 16


class Block(NamedTuple):
    """Some documents, or sequences of one length."""

    ids: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    """Lengths of the documents, or of their pieces if the files record them, otherwise of the sequences."""


def blocks_of(format: str, prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    """Yield the documents of the shard `prefix` in blocks. Raises JobError if its files are damaged."""
    try:
        yield from _READERS[format](prefix, dtype, is_packed)
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
        yield Block(tokens[begin:stop], np.diff(ends[first:last].astype(np.int64), prepend=begin))
        first, begin = last, stop


def _mapped(path: str, dtype: str) -> npt.NDArray[Any]:
    return np.memmap(path, dtype, "r") if os.path.getsize(path) else np.zeros(0, dtype)


def _npy(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    tokens = np.load(f"{prefix}.npy", mmap_mode="r")
    yield from _flat(tokens.reshape(-1), np.load(f"{prefix}.row_splits.npy", mmap_mode="r")[1:])


def _bin(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    yield from _flat(_mapped(f"{prefix}.bin", dtype), np.load(f"{prefix}.row_splits.npy", mmap_mode="r")[1:])


def _datatrove(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    yield from _flat(_mapped(f"{prefix}.ds", dtype), _mapped(f"{prefix}.ds.index", "<u8"))


def _megatron(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    with open(f"{prefix}.idx", "rb") as file:
        head = file.read(34)
    if head[:9] != b"MMIDIDX\0\0" or len(head) < 34:
        raise ValueError("not an index of Megatron-LM")
    sequences, documents = (int.from_bytes(head[i : i + 8], "little") for i in (18, 26))
    lengths = np.fromfile(f"{prefix}.idx", "<i4", sequences, offset=34)
    edges = np.fromfile(f"{prefix}.idx", "<i8", documents, offset=34 + 12 * sequences)
    ends = np.zeros(sequences + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    yield from _flat(_mapped(f"{prefix}.bin", dtype), ends[edges[1:]])


def _columns(prefix: str, batches: Iterator[Any], is_packed: bool) -> Iterator[Block]:
    for batch in batches:
        ids = batch.column("input_ids")
        values = ids.flatten().to_numpy(zero_copy_only=False)
        if is_packed:
            lengths = batch.column("seq_lengths").flatten().to_numpy(zero_copy_only=False)
        else:
            lengths = ids.value_lengths().to_numpy(zero_copy_only=False)
        yield Block(values, lengths.astype(np.int64))


def _parquet(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    with needed(f"{prefix}.parquet", "corpora"):
        from pyarrow import parquet
    with parquet.ParquetFile(f"{prefix}.parquet") as file:
        yield from _columns(prefix, file.iter_batches(batch_size=4096), is_packed)


def _arrow(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    with needed(f"{prefix}.arrow", "corpora"):
        import pyarrow
    with pyarrow.memory_map(f"{prefix}.arrow") as file, pyarrow.ipc.open_stream(file) as stream:
        yield from _columns(prefix, iter(stream), is_packed)


def _mds(prefix: str, dtype: str, is_packed: bool) -> Iterator[Block]:
    with open(os.path.join(prefix, "index.json"), "rb") as file:
        shards = json.load(file)["shards"]
    for shard in shards:
        data = _mapped(os.path.join(prefix, shard["raw_data"]["basename"]), "u1")
        count = int(data[:4].view("<u4")[0])
        offsets = data[4 : 8 + 4 * count].view("<u4").astype(np.int64)
        for first in range(0, count, 4096):
            edges = offsets[first : first + 4097]
            heads = 5 + (1 << (data[edges[:-1] + 4] & 3).astype(np.int64))
            is_head = np.zeros(int(edges[-1] - edges[0]) + 1, np.int8)
            np.add.at(is_head, edges[:-1] - edges[0], 1)
            np.add.at(is_head, edges[:-1] - edges[0] + heads, -1)
            tokens = data[edges[0] : edges[-1]][np.cumsum(is_head[:-1], dtype=np.int8) == 0]
            yield Block(tokens.view("<i4"), (np.diff(edges) - heads) // 4)


_READERS: dict[str, Callable[[str, str, bool], Iterator[Block]]] = {
    "npy": _npy,
    "bin": _bin,
    "datatrove": _datatrove,
    "megatron": _megatron,
    "parquet": _parquet,
    "arrow": _arrow,
    "mds": _mds,
}

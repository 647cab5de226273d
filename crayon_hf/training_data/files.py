"""Files to train on, mapped or unpacked while they are read. The ending of a name tells the format."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator
from mmap import ACCESS_READ, mmap
from typing import IO, Any

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.compression import unpacking
from crayon_hf.text_readers.documents import format_of
from crayon_hf.training_data.batches import BATCH, Batch, Corpus, Lines
from crayon_hf.util.damage import damage_in, is_pointer

__all__ = ["corpus_of_files", "corpus_of_stream"]


def corpus_of_files(paths: Iterable[Any], column: str = "text", format: str | None = None) -> Corpus:
    """Read files in order. The corpus' `total` is in bytes. Without `format`, the endings of the names decide."""
    names = [name for path in paths for name in _files_of(os.fsdecode(path), format)]
    sizes = []
    for name in names:  # report missing files before counting begins
        status = os.stat(name)
        is_file = stat.S_ISREG(status.st_mode)
        if is_file:  # not for pipes, which can be opened only once
            open(name, "rb").close()
        sizes.append(status.st_size if is_file else 0)
    total = sum(sizes) if all(sizes) else 0
    return Corpus(_all_batches(list(zip(names, sizes, strict=True)), column, format), total)


def _files_of(name: str, format: str | None) -> list[str]:
    """Return the file, or for a directory all files below it with a known ending."""
    return [file.address for file in find_inputs([name], format)] if os.path.isdir(name) else [name]


def corpus_of_stream(file: IO[bytes], column: str = "text", format: str | None = None) -> Corpus:
    """Read an open binary file, such as ``sys.stdin.buffer``, with uncompressed text, JSON lines or CSV."""
    name = str(getattr(file, "name", "the stream"))
    if format not in (None, "text", "jsonl", "csv", "tsv"):
        raise ValueError(f"format is {format!r}: expected text, jsonl, csv or tsv for a stream")
    return Corpus(_stream(file, name, column, format or "text", None))


def _all_batches(files: list[tuple[str, int]], column: str, format: str | None) -> Iterator[Batch]:
    before = 0
    for path, size in files:
        for batch in _batches(path, size, column, format):
            yield batch._replace(done=before + batch.done)
        before += size


def _batches(path: str, size: int, column: str, format: str | None) -> Iterator[Batch]:
    if is_pointer(path, size):
        raise CorpusError(f"{path} {damage_in(path)}")
    said, packed = format_of(path)
    kind = format or said or "text"
    if kind in ("parquet", "arrow"):
        if packed:
            raise CorpusError(f"{path} is a compressed {kind} file: unpack it first")
        from crayon_hf.training_data.columns import column_batches

        yield from column_batches(path, column, kind)
    elif packed:
        yield from _unpacked(path, packed, column, kind)
    elif kind == "text" and size:
        with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield Lines(data, path, 1, size)
    else:
        with open(path, "rb") as file:
            yield from _stream(file, path, column, kind, file if size else None)


def _unpacked(path: str, packed: str, column: str, kind: str) -> Iterator[Batch]:
    with open(path, "rb") as raw, io.BufferedReader(unpacking(raw, packed, path), 1 << 20) as file:
        yield from _stream(file, path, column, kind, raw)


def _stream(file: IO[bytes], path: str, column: str, kind: str, raw: IO[bytes] | None) -> Iterator[Batch]:
    """Read a stream. Progress is the position of `raw`, or the number of bytes read if `raw` is None."""
    if kind in ("csv", "tsv"):
        from crayon_hf.training_data.records import csv_batches

        yield from csv_batches(file, path, column, kind, raw)
        return
    if kind == "jsonl":
        from crayon_hf.training_data.records import json_batches

        yield from json_batches(file, path, column, raw)
        return
    rest: list[bytes] = []  # the beginning of an unfinished line
    number, read = 1, 0
    while block := file.read(BATCH):
        if not isinstance(block, bytes):
            raise TypeError(f"file gives {type(block).__name__}, expected bytes: open it in binary mode")
        cut = block.rfind(b"\n") + 1
        read += len(block)
        if not cut:
            rest.append(block)
            continue
        data = b"".join((*rest, block[:cut]))
        rest = [block[cut:]]
        yield Lines(data, path, number, read if raw is None else raw.tell())
        number += data.count(b"\n")
    if data := b"".join(rest):
        yield Lines(data, path, number, read if raw is None else raw.tell())

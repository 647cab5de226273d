"""Reads files to train on, mapped or unpacked. By default, the ending of a file's name decides its format."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from mmap import ACCESS_READ, mmap
from typing import IO, Any

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.compression import unpacking
from crayon_hf.text_readers.documents import Documents, Reading, format_of
from crayon_hf.text_readers.files import read_documents, read_stream
from crayon_hf.text_readers.stored import Stored, Stream
from crayon_hf.training_data.batches import BATCH, Batch, Corpus, Lines, Texts
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


def _reading(kind: str, column: str) -> Reading:
    """Return the settings that read the records of training: nulls are left out, and texts may have any length."""
    return Reading(kind, column, skips_nulls=True, batch_bytes=BATCH, max_document_bytes=(1 << 40) - 1)


def _files_of(name: str, format: str | None) -> list[str]:
    """Return the path `name`, or for a directory its files: with a known ending only, unless `format` is given."""
    return [file.address for file in find_inputs([name], format)] if os.path.isdir(name) else [name]


def corpus_of_stream(file: IO[bytes], column: str = "text", format: str | None = None) -> Corpus:
    """Read an open binary file, such as ``sys.stdin.buffer``, with uncompressed text, JSON lines or CSV."""
    name = str(getattr(file, "name", "the stream"))
    if format not in (None, "text", "jsonl", "csv", "tsv"):
        raise ValueError(f"format is {format!r}: expected text, jsonl, csv or tsv for a stream")
    return Corpus(_stream(file, name, column, format or "text"))


def _all_batches(files: list[tuple[str, int]], column: str, format: str | None) -> Iterator[Batch]:
    before = 0
    for path, size in files:
        for batch in _batches(path, size, column, format):
            yield batch._replace(done=before + batch.done)
        before += size


def _batches(path: str, size: int, column: str, format: str | None) -> Iterator[Batch]:
    if is_pointer(path, size):
        raise CorpusError(f"{path} {damage_in(path)}")
    said, packing = format_of(path)
    kind = format or said or "text"
    if kind == "text" and size and not packing:
        with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield Lines(data, path, 1, size)
    elif size or kind in ("parquet", "arrow"):
        found = find_inputs([path], kind)[0]
        if kind == "text":
            with Stored(found, packing) as source:
                yield from _lines(source)
        else:
            yield from _texts(read_documents(found, _reading(kind, column)), path)
    else:  # a pipe, which has no size
        with open(path, "rb") as pipe:
            content: Any = unpacking(pipe, packing, path) if packing else pipe
            yield from _stream(content, path, column, kind)


def _stream(file: IO[bytes], name: str, column: str, kind: str) -> Iterator[Batch]:
    source = Stream(file, name)
    if kind == "text":
        return _lines(source)
    return _texts(read_stream(source, _reading(kind, column)), name)


def _lines(source: Stored | Stream) -> Iterator[Lines]:
    rest: list[bytes] = []  # the beginning of an unfinished line
    number = 1
    while block := source.read(BATCH):
        cut = block.rfind(b"\n") + 1
        if not cut:
            rest.append(block)
            continue
        data = b"".join((*rest, block[:cut]))
        rest = [block[cut:]]
        yield Lines(data, source.file.address, number, source.done)
        number += data.count(b"\n")
    if data := b"".join(rest):
        yield Lines(data, source.file.address, number, source.done)


def _texts(batches: Iterable[Documents], path: str) -> Iterator[Texts]:
    for data, begins, ends, _, done in batches:
        ranges = zip(begins.tolist(), ends.tolist(), strict=True)
        yield Texts([str(data[begin:end], "utf-8") for begin, end in ranges], lambda i: f"{path}, text {i}", done)

"""Counts the tokens of files on all cores."""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from crayon_hf._core import usable_cores
from crayon_hf.cli.inputs import utf8_advice
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.text_readers.trees import find_tree, is_binary
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.validation import not_utf8

_CHUNK = 1 << 20
"""Bytes encoded at once. Smaller files are encoded in groups."""
_TOGETHER = 256
"""The most files in a group."""


class File(NamedTuple):
    """A file to count."""

    name: str
    size: int
    is_found: bool
    """Whether it was found in a directory. A named file must be text."""
    is_regular: bool


class How(NamedTuple):
    """The settings for counting files."""

    limit: int | None
    """Counting stops at `limit` + 1 tokens of a file."""
    special: bool
    """Whether special tokens around a text count."""
    as_bytes: bool


def files_of(names: Iterable[str], ignore: bool) -> Iterator[File]:
    """Yield the named files and the files in named directories. With `ignore`, skip files that git would ignore."""
    for name in names:
        if os.path.isdir(name):
            yield from (File(found.address, found.size, True, True) for found in find_tree(name, ignore))
        else:
            status = os.stat(name)
            yield File(name, status.st_size, False, stat.S_ISREG(status.st_mode))


def counts_of(
    tokenizer: Tokenizer, files: Sequence[File], how: How, told: Callable[[str, int], None]
) -> Iterator[tuple[File, int | None]]:
    """Yield each file with its number of tokens, or with None if it was found in a directory and is not text.

    Several threads call `told` with a file's name and the number of bytes that they just counted. The threads hold a
    few chunks for each core.

    Raises:
        InvalidUtf8Error: A named file is not UTF-8.
    """
    stopped = threading.Event()

    def count(group: list[File]) -> list[tuple[File, int | None]]:
        if len(group) > 1 or (group[0].is_regular and group[0].size <= _CHUNK):
            return list(zip(group, _counts_together(tokenizer, group, how, told), strict=True))
        return [(group[0], _count_large(tokenizer, group[0], how, told, stopped))]

    cores = usable_cores()
    pool = ThreadPoolExecutor(cores, "crayon-count")
    waiting: deque[Future[list[tuple[File, int | None]]]] = deque()
    try:
        for group in _groups(files):
            waiting.append(pool.submit(count, group))
            if len(waiting) > 2 * cores:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _groups(files: Iterable[File]) -> Iterator[list[File]]:
    group: list[File] = []
    size = 0
    for file in files:
        is_large = not file.is_regular or file.size > _CHUNK
        if group and (is_large or size + file.size > _CHUNK or len(group) == _TOGETHER):
            yield group
            group, size = [], 0
        group.append(file)
        size += _CHUNK if is_large else file.size
    if group:
        yield group


def _counts_together(
    tokenizer: Tokenizer, files: list[File], how: How, told: Callable[[str, int], None]
) -> list[int | None]:
    texts: list[bytes] = []
    counts: list[int | None] = [None] * len(files)
    places = []
    for place, file in enumerate(files):
        data = Path(file.name).read_bytes()
        if how.as_bytes:
            counts[place] = _limited(len(tokenizer.encode_bytes(data)), how.limit)
        elif _is_text(file, data):
            texts.append(data)
            places.append(place)
        told(file.name, len(data))
    for place, tokens in zip(places, tokenizer.count_tokens(texts, how.special, 1, how.limit), strict=True):
        counts[place] = tokens
    return counts


def _is_text(file: File, data: bytes) -> bool:
    if file.is_found and is_binary(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if file.is_found:
            return False
        raise _with_advice(file.name, not_utf8("the text", error.start)) from None
    return True


def _count_large(
    tokenizer: Tokenizer, file: File, how: How, told: Callable[[str, int], None], stopped: threading.Event
) -> int | None:
    if how.as_bytes:
        return _limited(len(tokenizer.encode_bytes(Path(file.name).read_bytes())), how.limit)
    if file.is_found:
        with open(file.name, "rb") as opened:
            if is_binary(opened.read(1 << 13)):
                return None
    limit, total, done = how.limit, 0, 0
    chunk_bytes = _CHUNK if limit is None else min(_CHUNK, max(1 << 12, 8 * limit))
    try:
        for chunk in tokenizer.encode_file(file.name, chunk_bytes=chunk_bytes, add_special_tokens=how.special):
            total += len(chunk.ids)
            if stopped.is_set() or (limit is not None and total > limit):
                break
            told(file.name, chunk.end - done)
            done = chunk.end
    except InvalidUtf8Error as error:
        if file.is_found:
            return None
        raise _with_advice(file.name, error) from error
    return _limited(total, limit)


def _limited(tokens: int, limit: int | None) -> int:
    return tokens if limit is None else min(tokens, limit + 1)


def _with_advice(name: str, error: InvalidUtf8Error) -> InvalidUtf8Error:
    return InvalidUtf8Error(f"{name}: {error} ({utf8_advice(name, '--bytes takes any bytes')})")

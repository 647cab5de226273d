"""Encodes a file chunk by chunk, without holding the file, its text or its ids in memory.

Chunks end where cutting changes no id (``cpp/src/encode/cutter/seams.h``), so their ids together are those of the whole
text.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from crayon_hf import _core
from crayon_hf.util import validation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LARGEST_READ = 1 << 28
"""The most bytes of the first read from a file that is not memory-mapped."""


class FileChunk(NamedTuple):
    """The ids of bytes [start, end) of a file."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64] | None
    """(start, end) of each id's bytes in the file; (0, 0) for special tokens around the text."""
    start: int
    end: int


def encode_file(
    engine: Any, special_as_text: bool, file: Any, chunk_bytes: int, offsets: bool, add_special_tokens: bool
) -> Iterator[FileChunk]:
    """Implement `Tokenizer.encode_file`. `special_as_text` is the tokenizer's ``encode_special_tokens``."""
    validation.check_flags(offsets=offsets, add_special_tokens=add_special_tokens)
    if validation.unsigned(chunk_bytes, "chunk_bytes", 62) == 0:
        raise ValueError("chunk_bytes is 0, expected at least 1")
    opened, own = open_binary(file)
    encoder = stream_encoder(engine, add_special_tokens, special_as_text, offsets)
    if own and stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        return _mapped(encoder, opened, chunk_bytes)
    return _read(encoder, opened, own, min(chunk_bytes, _LARGEST_READ))


def stream_encoder(engine: Any, add_special_tokens: bool, special_as_text: bool, offsets: bool) -> AnyStream:
    """Return an encoder that takes one text window by window. `engine` is native, or calls a reference library."""
    of = _core.StreamEncoder if isinstance(engine, _core.Engine) else DelegatedStream
    return of(engine, add_special_tokens, special_as_text, offsets)


AnyStream: TypeAlias = "_core.StreamEncoder | DelegatedStream"


class DelegatedStream:
    """Replaces `_core.StreamEncoder` for an engine that calls a reference library.

    The library takes whole texts, so nothing is consumed until a window reaches the end of the text.
    """

    def __init__(self, engine: Any, add_special_tokens: bool, special_as_text: bool, offsets: bool) -> None:
        self._engine, self._how, self._offsets = engine, (add_special_tokens, special_as_text), offsets

    def encode(
        self, buffer: Any, start: int, end: int, is_last: bool
    ) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int64] | None]:
        """Encode ``buffer[start:end]``. Return (bytes consumed, ids, the byte range of each id, if wanted)."""
        import numpy as np

        if not is_last:
            return 0, np.zeros(0, np.int32), None
        data = bytes(memoryview(buffer)[start:end])
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise validation.not_utf8("the text", error.start) from None
        encoding = self._engine.encode(text, None, False, *self._how)
        ranges = None
        if self._offsets:
            begins = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
            starts = np.append(np.flatnonzero(begins), len(data)).astype(np.int64)
            ranges = starts[np.array(encoding.offsets, np.int64).reshape(-1, 2)]
        return end - start, np.array(encoding.ids, np.int32), ranges


def open_binary(file: Any) -> tuple[Any, bool]:
    """Open a path, or check a binary file. Return the file, and whether the caller must close it."""
    if isinstance(file, (str, bytes, os.PathLike)):
        return open(file, "rb", buffering=0), True
    if isinstance(file, io.TextIOBase) or not (hasattr(file, "readinto") or hasattr(file, "read")):
        raise TypeError(f"file is {validation.kind(file)}, expected a path or a binary file")
    return file, False


def _mapped(encoder: AnyStream, file: io.FileIO, chunk_bytes: int) -> Iterator[FileChunk]:
    with file:
        size = os.fstat(file.fileno()).st_size
        if size == 0:  # empty, or a file without a size, such as those in /proc
            yield from _read(encoder, file, False, chunk_bytes)
            return
        with contextlib.closing(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)) as pages:
            start, window, given_back = 0, chunk_bytes, 0
            while start < size:
                end = min(size, start + window)
                # Reading a truncated mmap raises SIGBUS, so check before each window.
                if (left := os.fstat(file.fileno()).st_size) < end:
                    raise OSError(f"{file.name!r} was cut from {size} to {left} bytes while it was encoded")
                consumed, ids, offsets = encoder.encode(pages, start, end, end == size)
                window = 2 * window if consumed == 0 else chunk_bytes
                if consumed:
                    yield FileChunk(ids, offsets, start, start + consumed)
                    start += consumed
                    given_back = _give_back(pages, given_back, start)


def _give_back(pages: mmap.mmap, done: int, start: int) -> int:
    """Let the system free the mapped memory pages in [done, start). Return the end of the last such page."""
    end = start - start % mmap.PAGESIZE
    if end > done and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED, done, end - done)
    return end


def _read(encoder: AnyStream, file: Any, own: bool, chunk_bytes: int) -> Iterator[FileChunk]:
    with file if own else contextlib.nullcontext():
        buffer = memoryview(bytearray(chunk_bytes))
        start = filled = 0
        window, ended = chunk_bytes, False
        while True:
            if window > len(buffer):
                larger = memoryview(bytearray(window))
                larger[:filled] = buffer[:filled]
                buffer = larger
            while filled < window and not ended:
                count = read_into(file, buffer[filled:window])
                filled, ended = filled + count, count == 0
            consumed, ids, offsets = encoder.encode(buffer, 0, filled, ended)
            if consumed or ended:
                yield FileChunk(ids, offsets, start, start + consumed)
            if ended:
                return
            start, filled = start + consumed, filled - consumed
            buffer[:filled] = buffer[consumed : consumed + filled]
            window = chunk_bytes if filled < chunk_bytes else 2 * filled


def read_into(file: Any, view: memoryview) -> int:
    """Read into `view`. Return the number of bytes read, which is 0 at the end of the file."""
    if hasattr(file, "readinto"):
        count = file.readinto(view)
    else:
        data = file.read(len(view))
        if data is not None and not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"file gives {validation.kind(data)}, expected bytes: open it in binary mode")
        count = None if data is None else len(data)
        if data and len(data) <= len(view):
            view[: len(data)] = data
    if count is None:
        raise BlockingIOError("the file is non-blocking and has no data now: open it in blocking mode")
    if not 0 <= count <= len(view):
        raise OSError(f"the file reports that it read {count} bytes, but {len(view)} were requested")
    return int(count)

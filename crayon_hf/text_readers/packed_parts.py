"""Unpack the parts of a compressed file in several threads, ahead of the reader and in order.

A `Format` finds the ends of parts. Where no part begins, or a part does not unpack, one thread takes over and streams
the file to its end. So bytes and errors equal those of a single thread, also for damaged files.
"""

from __future__ import annotations

import io
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, NamedTuple, Protocol

ENOUGH_PACKED, ENOUGH_UNPACKED = 1 << 20, 4 << 20
"""The packed and the unpacked size in bytes from which a part is not extended."""
TOO_MUCH = 40 << 20
"""The most unpacked bytes of a part. Frames of ``pzstd -19`` have 32 MB, and their headers give a higher bound."""

_THREADS = 8
"""The most threads. That many unpack faster than one thread reads."""
_PER_THREAD = 16 << 20
"""The most bytes for each thread of parts that are being unpacked or wait for the reader."""
_READ = 1 << 17
_NOTHING = memoryview(b"")


class Ahead(io.RawIOBase):
    """A file with a `buffer` of bytes that were read and not used yet. Closing it does not close the file."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.buffer = bytearray()
        self._raw = raw

    def has(self, size: int) -> bool:
        """Read until `buffer` has `size` bytes. Return False if the file ends before."""
        while len(self.buffer) < size:
            data = self._raw.read(_READ)
            if not data:
                return False
            self.buffer += data
        return True

    def take(self, size: int) -> bytes:
        """Remove the first bytes of `buffer` and return them."""
        with memoryview(self.buffer) as view, view[:size] as first:
            data = bytes(first)
        del self.buffer[:size]
        return data

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes, and no bytes only at the end of the file."""
        return self.take(size) if self.buffer else self._raw.read(size)

    def tell(self) -> int:
        """Return the offset up to which the file was read."""
        return self._raw.tell()


class Format(Protocol):
    """A compression format whose parts can be found without unpacking."""

    def cut(self, ahead: Ahead) -> tuple[int, int]:
        """Return the packed size of the part at the start of `ahead`, and an upper bound of its unpacked size.

        The packed size is 0 if no whole part begins there.
        """

    def unpack(self, packed: bytes, room: memoryview) -> int | None:
        """Unpack a part into the beginning of `room`. Return its unpacked size, or None if `packed` is not one whole
        part.

        Several threads call this method. `room` has more bytes than the bound from `cut`.
        """

    def stream(self, ahead: Ahead) -> io.RawIOBase:
        """Return a stream that unpacks the whole rest of the file from `ahead` on."""


class _Part(NamedTuple):
    packed: bytes
    room: memoryview
    size: Future[int | None]


class InParts(io.RawIOBase):
    """The unpacked content of `raw`. `close` ends its threads."""

    def __init__(self, raw: IO[bytes], format: Format, threads: int) -> None:
        self._ahead, self._format, self._threads = Ahead(raw), format, min(threads, _THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self._parts: deque[_Part] = deque()
        self._rooms: list[memoryview] = []
        self._room, self._content = _NOTHING, _NOTHING
        self._stream: io.RawIOBase | None = None
        self._is_begun = self._no_part_follows = False

    @property
    def ahead(self) -> int:
        """The number of bytes of the file that were read, but whose content was not returned yet."""
        return len(self._ahead.buffer) + sum(len(part.packed) for part in self._parts)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with memoryview(buffer) as whole, whole.cast("B") as view:
            while len(view):
                if size := min(len(view), len(self._content)):
                    view[:size], self._content = self._content[:size], self._content[size:]
                    return size
                if self._stream is not None:
                    return self._stream.readinto(view) or 0
                if not self._go_on():
                    break
        return 0

    def _go_on(self) -> bool:
        """Get more content, or a stream. Return False at the end."""
        if self._room:
            self._rooms.append(self._room)
            self._room = self._content = _NOTHING
        self._begin_parts()
        if self._parts:
            part = self._parts[0]
            size = part.size.result()
            if size is None:
                self._go_back()
                return True
            self._parts.popleft()
            self._room, self._content = part.room, part.room[:size]
            self._begin_parts()
            return True
        if self._is_begun and not self._ahead.has(1):
            return False
        self._stream = self._format.stream(self._ahead)
        return True

    def _begin_parts(self) -> None:
        while (
            not self._no_part_follows
            and len(self._parts) < self._threads
            and sum(len(part.room) for part in self._parts) < self._threads * _PER_THREAD
        ):
            size, most = self._format.cut(self._ahead)
            if not size or (not self._parts and not self._ahead.has(size + 1)):  # nothing to unpack in parallel
                self._no_part_follows = True
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, "crayon-unpacking")
            packed, room = self._ahead.take(size), self._take_room(most)
            self._parts.append(_Part(packed, room, self._pool.submit(self._format.unpack, packed, room)))
            self._is_begun = True

    def _take_room(self, most: int) -> memoryview:
        """Return memory of more than `most` bytes: memory that was used before if possible, else new memory."""
        for room in self._rooms:
            if len(room) > most:
                self._rooms.remove(room)
                return room
        del self._rooms[:1]
        import numpy as np  # not at the top, where it would slow down every start of the command

        return np.empty(1 << most.bit_length(), np.uint8).data  # untouched pages take no memory

    def _go_back(self) -> None:
        """Return to the beginning of the first part: one thread streams its content, and reports the error."""
        packed = b"".join(part.packed for part in self._parts)
        for part in self._parts:
            part.size.cancel()
        self._parts.clear()
        self._ahead.buffer[:0] = packed
        self._no_part_follows = True

    def close(self) -> None:
        pool, self._pool, self._stream = self._pool, None, None
        self._parts.clear()
        self._rooms.clear()
        self._room = self._content = _NOTHING
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        super().close()

"""Packed files whose parts are unpacked in several threads, ahead of the reader and in order.

A `Format` says where parts end. From what is no part on, or from a part that does not unpack, all is read as one thread
reads it: bytes and errors are those of one thread, whatever is wrong with a file.
"""

from __future__ import annotations

import io
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, NamedTuple, Protocol

ENOUGH_PACKED, ENOUGH_UNPACKED = 1 << 20, 4 << 20
"""Bytes. A part that has so many of either is not made longer."""
TOO_MUCH = 40 << 20
"""Bytes. No part has more: the frames of ``pzstd -19`` have 32 MB, and their block headers say a little more."""

_THREADS = 8
"""At most: they unpack faster than one reader takes it."""
_PER_THREAD = 16 << 20
"""Bytes. While so many times the threads are being unpacked, or wait for the reader, no other part is begun."""
_READ = 1 << 17
_NOTHING = memoryview(b"")


class Ahead(io.RawIOBase):
    """A file, and in `buffer` what was read of it and is not used yet. It is not closed with this."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.buffer = bytearray()
        self._raw = raw

    def has(self, size: int) -> bool:
        """Whether there are `size` bytes; then they are in `buffer`."""
        while len(self.buffer) < size:
            data = self._raw.read(_READ)
            if not data:
                return False
            self.buffer += data
        return True

    def take(self, size: int) -> bytes:
        """The first bytes of `buffer`."""
        with memoryview(self.buffer) as view, view[:size] as first:
            data = bytes(first)
        del self.buffer[:size]
        return data

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """As of any file: some bytes, none at the end."""
        return self.take(size) if self.buffer else self._raw.read(size)

    def tell(self) -> int:
        """How far the file is read."""
        return self._raw.tell()


class Format(Protocol):
    """A way of packing that says where its parts end."""

    def cut(self, ahead: Ahead) -> tuple[int, int]:
        """Bytes that a whole part has where `ahead` is, and unpacked at most; 0 if there is none."""

    def unpack(self, packed: bytes, room: memoryview) -> int | None:
        """How many bytes a part has, which are at the beginning of `room` then. None: it is not as `cut` believed.

        Threads call this. `room` has more bytes than `cut` said.
        """

    def stream(self, ahead: Ahead) -> io.RawIOBase:
        """What unpacks all from where `ahead` is on the way."""


class _Part(NamedTuple):
    packed: bytes
    room: memoryview
    size: Future[int | None]


class InParts(io.RawIOBase):
    """The content of `raw`. `close` it: then its threads are gone."""

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
        """Bytes of the file that are read, but of which nothing was given out."""
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
        """Have content or a stream; False at the end."""
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
            if not size or (not self._parts and not self._ahead.has(size + 1)):  # nothing to do at the same time
                self._no_part_follows = True
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, "crayon-unpacking")
            packed, room = self._ahead.take(size), self._take_room(most)
            self._parts.append(_Part(packed, room, self._pool.submit(self._format.unpack, packed, room)))
            self._is_begun = True

    def _take_room(self, most: int) -> memoryview:
        """Memory that was used before, if there is some of more than `most` bytes."""
        for room in self._rooms:
            if len(room) > most:
                self._rooms.remove(room)
                return room
        del self._rooms[:1]
        import numpy as np  # here, since every start of the command would wait for it

        return np.empty(1 << most.bit_length(), np.uint8).data  # what is not written takes no memory

    def _go_back(self) -> None:
        """To the beginning of the first part: one thread says what is wrong there, and gives what is before."""
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

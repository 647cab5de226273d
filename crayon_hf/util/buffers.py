"""Buffers that are reused, but never by two users at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class BufferPool:
    """Buffers to read into. One that is lent belongs to the borrower alone, until everything that shows it is gone.

    Nobody ever waits: when all that are kept are out, a new one is made. There is no lock that a fork could leave
    behind, because adding to a deque and taking from it are single steps.
    """

    def __init__(self, size: int, count: int) -> None:
        """Buffers of `size` bytes, of which at most `count` are kept for later."""
        if size < 1 or count < 0:
            raise ValueError(f"a pool of {count} buffers of {size} bytes")
        self.size = size
        self._free: deque[bytearray] = deque(maxlen=count)

    @contextmanager
    def lease(self, at_least: int = 0) -> Iterator[memoryview]:
        """A view of a buffer of the pool's size, or of a new one if `at_least` is more than that.

        After the block the view is released: using it raises ValueError. A buffer that something else still shows (an
        array over it, a part of the view) is left to that, and not lent again.
        """
        buffer = bytearray(at_least) if at_least > self.size else self._take()
        view = memoryview(buffer)
        try:
            yield view
        finally:
            try:
                view.release()
            except BufferError:
                pass  # something that was made of the view itself lives on
            else:
                if len(buffer) == self.size and _is_alone(buffer):
                    self._free.append(buffer)

    def _take(self) -> bytearray:
        try:
            return self._free.pop()
        except IndexError:
            return bytearray(self.size)


def _is_alone(buffer: bytearray) -> bool:
    """True when nothing shows the buffer: only then can its size be changed."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True

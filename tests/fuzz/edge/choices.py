"""Bytes as choices: the same bytes are the same case in every process, on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A reader of bytes from the front. Behind the end everything is the first choice, so that any bytes are a case."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        """The next byte, 0 behind the end."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def below(self, n: int) -> int:
        """A number in ``range(n)``, of one byte, or of two where one does not reach them all."""
        return (self.byte() if n <= 256 else self.byte() << 8 | self.byte()) % n

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def flag(self) -> bool:
        """True or False."""
        return bool(self.byte() & 1)

    def take(self, n: int) -> bytes:
        """The next `n` bytes, fewer at the end."""
        self._at += n
        return self._data[self._at - n : self._at]

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(max(len(self._data) - self._at, 0))

    def __bool__(self) -> bool:
        """Whether bytes are left."""
        return self._at < len(self._data)


def text_of(data: bytes) -> str:
    """A text of any bytes. The three bytes that would be half a surrogate pair are one: a str can hold it."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


SEPARATOR = b"\xff"
"""Between the parts of an input: no byte of UTF-8."""


def parts_of(data: bytes, most: int) -> list[bytes]:
    """The parts of an input between separators, at least one."""
    return data.split(SEPARATOR, most - 1)

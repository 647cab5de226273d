"""Split files into chunks, through a moving window.

A window may end anywhere. So chunks are cut only up to its last line start: before that, boundaries and tokens do not
depend on text beyond the window. If the window's second half is within one line, chunks are cut up to
three quarters of the window.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator
from typing import Any

from crayon_hf.budgets.chunks import Chunk, Position, Splitter
from crayon_hf.file_encoding import open_binary, read_into
from crayon_hf.util.validation import not_utf8

WINDOW = 1 << 20
"""Bytes that are read at a time."""

_LINE = re.compile(r"\n(?=\S)")


def chunks_of(splitter: Splitter, file: Any) -> Iterator[Chunk]:
    """Open the file at once, and return an iterator over its chunks."""
    opened, own = open_binary(file)
    return _chunks(splitter, opened, own, WINDOW)


def _chunks(splitter: Splitter, file: Any, own: bool, size: int) -> Iterator[Chunk]:
    with file if own else contextlib.nullcontext():
        source = _Text(file)
        text, base = source.read(size), 0
        position = Position()
        if splitter.needs_whole:
            while not source.ended:
                text += source.read(size)
        while True:
            window, sure = splitter.window(text), len(text) if source.ended else _sure(text, size)
            start, end = position.start - base, position.end - base
            began = end
            while (new := window.next_part(end)) < len(text) and (source.ended or window.reach(new) < sure):
                start, end = window.next_range(start, end)
                position = position.moved(text, start, end, base)
                yield splitter.chunk(window, start, end, position)
            if source.ended:
                return
            if end == began:  # no chunk is certain: read more
                size *= 2
            kept = _kept(text, start, size)
            text, base = text[kept:] + source.read(size), base + kept


def _sure(text: str, size: int) -> int:
    """The offset up to which chunks may be cut, whatever text follows."""
    ends = [found.end() for found in _LINE.finditer(text, len(text) // 2)]
    return ends[-1] if ends else len(text) - len(text) // 4


def _kept(text: str, start: int, size: int) -> int:
    """The offset from which the next window keeps text: the start of the line at `start`, or `start` in a long line."""
    line = text.rfind("\n", max(0, start - size // 4), start) + 1
    return line or start


class _Text:
    """The text of a binary file, read in parts."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._done = 0
        self.ended = False

    def read(self, size: int) -> str:
        """Decode the next `size` bytes, or fewer at the end. Raises InvalidUtf8Error with the invalid byte's offset."""
        buffer = memoryview(bytearray(size))
        filled = 0
        while filled < size and not self.ended:
            count = read_into(self._file, buffer[filled:])
            filled, self.ended = filled + count, count == 0
        begun = self._done - len(self._decoder.getstate()[0])
        self._done += filled
        try:
            return self._decoder.decode(buffer[:filled], self.ended)
        except UnicodeDecodeError as error:
            raise not_utf8("the text", begun + error.start) from None

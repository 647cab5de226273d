"""Where the frames of a .zst file end: by RFC 8878 the headers of frames and of their blocks say it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from crayon_hf.text_readers.packed_parts import ENOUGH_PACKED, ENOUGH_UNPACKED, TOO_MUCH, Ahead

_FRAME, _SKIPPABLE = 0xFD2FB528, 0x184D2A50
_RESERVED, _CHECKSUM = 0x08, 0x04
_BLOCK = 1 << 17
"""Bytes that a block has at most. It has no more than the window, either."""


class Frames:
    """Parts of whole frames, small ones together, skippable ones among them. A larger frame is streamed."""

    def __init__(self, pyarrow: Any, opened: Callable[[Any], io.RawIOBase]) -> None:
        """`opened` is what reads frames one after the other, to the end of a file."""
        self._pyarrow, self._opened = pyarrow, opened

    def cut(self, ahead: Ahead) -> tuple[int, int]:
        end = unpacked = 0
        while end < ENOUGH_PACKED and unpacked < ENOUGH_UNPACKED:
            frame = _frame_at(ahead, end)
            if frame is None:
                break
            while not (is_large := max(frame.end, unpacked + frame.unpacked, frame.window) > TOO_MUCH):
                if not frame.find_block():
                    break
            if is_large or not ahead.has(frame.end):
                break
            end, unpacked = frame.end, unpacked + frame.unpacked
        return end, unpacked

    def unpack(self, packed: bytes, room: memoryview) -> int | None:
        file, size = self._pyarrow.CompressedInputStream(self._pyarrow.BufferReader(packed), "zstd"), 0
        try:
            while read := int(file.readinto(room[size:])):
                size += read
        except OSError:
            return None
        return size if size < len(room) else None

    def stream(self, ahead: Ahead, is_rest: bool) -> io.RawIOBase:
        frame = None if is_rest else _frame_at(ahead, 0)
        return self._opened(ahead if frame is None else _OneFrame(ahead, frame))


class _Frame:
    """A frame up to `end`, where the next block begins, or what is behind the frame."""

    def __init__(self, ahead: Ahead, end: int) -> None:
        """`end` is that of its header."""
        self.end = end
        self.window = self.unpacked = 0
        """Bytes, at most; `unpacked` counts what is known of the content."""
        self.says_size = self.is_whole = False
        self.checksum = 0
        self._ahead = ahead

    def find_block(self) -> bool:
        """Go on behind the next block. False where there is none, or no end: whoever unpacks it says what is wrong."""
        if self.is_whole:
            return False
        header = _number(self._ahead, self.end, 3)
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if header < 0 or kind == 3:
            self.is_whole, self.end = True, sys.maxsize
            return False
        self.end += 3 + (1 if kind == 1 else size)  # one byte that is repeated
        if not self.says_size:
            self.unpacked += min(_BLOCK, self.window) if kind == 2 else size
        if is_last:
            self.is_whole, self.end = True, self.end + self.checksum
        return True


def _number(ahead: Ahead, begin: int, size: int) -> int:
    """So many bytes as a number; -1 where the file ends before."""
    return int.from_bytes(ahead.buffer[begin : begin + size], "little") if ahead.has(begin + size) else -1


def _frame_at(ahead: Ahead, begin: int) -> _Frame | None:
    """The frame that begins there, by its header; None where there is none, or half of one."""
    magic, size = _number(ahead, begin, 4), _number(ahead, begin + 4, 4)
    if size >= 0 and magic & ~0xF == _SKIPPABLE:
        frame = _Frame(ahead, begin + 8 + size)
        frame.is_whole = True
        return frame
    descriptor = _number(ahead, begin + 4, 1)
    if size < 0 or magic != _FRAME or descriptor & _RESERVED:
        return None
    is_single = descriptor >> 5 & 1
    at = begin + 5
    window, at = (0 if is_single else _number(ahead, at, 1)), at + 1 - is_single
    at += (0, 1, 2, 4)[descriptor & 3]  # the dictionary
    width = (is_single, 2, 4, 8)[descriptor >> 6]
    content = _number(ahead, at, width)
    if window < 0 or content < 0:
        return None
    frame = _Frame(ahead, at + width)
    frame.says_size, frame.checksum = width > 0, 4 if descriptor & _CHECKSUM else 0
    frame.unpacked = content + 256 if width == 2 else content
    frame.window = frame.unpacked if is_single else (8 + window % 8) << (7 + window // 8)
    return frame


class _OneFrame(io.RawIOBase):
    """A file that ends where a frame does, with which `ahead` begins."""

    def __init__(self, ahead: Ahead, frame: _Frame) -> None:
        self._ahead, self._frame = ahead, frame

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while self._frame.end < size and self._frame.find_block():
            pass
        data = self._ahead.read(min(size, self._frame.end)) if self._frame.end else b""
        self._frame.end -= len(data)
        return data

    def tell(self) -> int:
        return self._ahead.tell()

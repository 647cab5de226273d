"""Find the ends of frames of a .zst file by RFC 8878, from the headers of frames and their blocks."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from crayon_hf.text_readers.packed_parts import ENOUGH_PACKED, ENOUGH_UNPACKED, TOO_MUCH, Ahead

_FRAME, _SKIPPABLE = 0xFD2FB528, 0x184D2A50
_RESERVED, _CHECKSUM = 0x08, 0x04
_BLOCK = 1 << 17
"""The most unpacked bytes of a block. A smaller window size limits a block further."""


class Frames:
    """Parts of whole frames. A part combines small and skippable frames. Streaming begins at a frame over TOO_MUCH."""

    def __init__(self, pyarrow: Any, opened: Callable[[Any], io.RawIOBase]) -> None:
        """`opened` returns a reader of concatenated frames, to the end of a file."""
        self._pyarrow, self._opened = pyarrow, opened

    def cut(self, ahead: Ahead) -> tuple[int, int]:
        end = unpacked = 0
        while end < ENOUGH_PACKED and unpacked < ENOUGH_UNPACKED:
            frame = _frame(ahead, end)
            if frame is None or unpacked + frame[1] > TOO_MUCH or not ahead.has(frame[0]):
                break
            end, unpacked = frame[0], unpacked + frame[1]
        return end, unpacked

    def unpack(self, packed: bytes, room: memoryview) -> int | None:
        file, size = self._pyarrow.CompressedInputStream(self._pyarrow.BufferReader(packed), "zstd"), 0
        try:
            while read := int(file.readinto(room[size:])):
                size += read
        except OSError:
            return None
        return size if size < len(room) else None

    def stream(self, ahead: Ahead) -> io.RawIOBase:
        return self._opened(ahead)


def _number(ahead: Ahead, begin: int, size: int) -> int:
    """Return the `size` bytes at `begin` as a number, or -1 if the file ends before."""
    return int.from_bytes(ahead.buffer[begin : begin + size], "little") if ahead.has(begin + size) else -1


def _frame(ahead: Ahead, begin: int) -> tuple[int, int] | None:
    """Return the end of the frame that begins at `begin`, and an upper bound of its unpacked size.

    Return None if the frame is too large, damaged or truncated: the decompressor then reports the error.
    """
    magic, size = _number(ahead, begin, 4), _number(ahead, begin + 4, 4)
    if size >= 0 and magic & ~0xF == _SKIPPABLE:
        return (begin + 8 + size, 0) if size <= TOO_MUCH else None
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
    end, unpacked, is_last = at + width, content + 256 if width == 2 else content, 0
    window = unpacked if is_single else (8 + window % 8) << (7 + window // 8)
    while not is_last:
        header = _number(ahead, end, 3)
        if header < 0 or max(end, unpacked, window) > TOO_MUCH:
            return None
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == 3:
            return None
        end += 3 + (1 if kind == 1 else size)  # kind 1 repeats one byte
        if not width:
            unpacked += min(_BLOCK, window) if kind == 2 else size
    return (end + (4 if descriptor & _CHECKSUM else 0), unpacked) if max(end, unpacked) <= TOO_MUCH else None

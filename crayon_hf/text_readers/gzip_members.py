"""Members of .gz files: their decompressors, and the ends of BGZF blocks."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

from crayon_hf.text_readers.packed_parts import ENOUGH_PACKED, ENOUGH_UNPACKED, Ahead

HEADER = 4
"""The number of bytes at the start of a member by which `decompressor` chooses a library."""

_BLOCK = struct.Struct("<4s6xH4sH")
_MOST = 1 << 16
"""The most bytes of a BGZF block, unpacked."""


@cache
def _isal() -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return None
    return isal_zlib


def decompressor(header: bytes) -> Any:
    """Return a decompressor for a member with this header. It works like ``zlib.decompressobj`` and verifies checksums.

    ISA-L is more than twice as fast as zlib. But ISA-L accepts reserved flags, and fails if a header with several
    fields or a checksum arrives in two pieces. So zlib unpacks members with such headers, and reports data that is not
    gzip.
    """
    is_usual = header[:3] == b"\x1f\x8b\x08" and header[3:4] in (b"\x00", b"\x04", b"\x08")  # at most one field
    return ((is_usual and _isal()) or zlib).decompressobj(wbits=31)  # with header and checksum


def is_damage(error: Exception) -> bool:
    """Whether a decompressor raised this because of its input."""
    return isinstance(error, zlib.error) or type(error).__name__ == "IsalError"


class Blocks:
    """Parts of BGZF, as ``bgzip`` writes it: members of at most 64 KiB whose headers contain their length.

    The format is that of the SAM specification, 4.1. The first member of another kind and all after it are streamed.
    """

    def __init__(self, opened: Callable[[Any, bool], io.RawIOBase]) -> None:
        """`opened` returns a reader of concatenated members. Its second argument says whether other members precede."""
        self._opened, self._is_begun = opened, False

    def cut(self, ahead: Ahead) -> tuple[int, int]:
        end = unpacked = 0
        while end < ENOUGH_PACKED and unpacked < ENOUGH_UNPACKED and ahead.has(end + _BLOCK.size):
            size = _size(ahead.buffer, end)
            if not size or not ahead.has(end + size) or _content(ahead.buffer, end + size) > _MOST:
                break
            end, unpacked = end + size, unpacked + _content(ahead.buffer, end + size)
        self._is_begun = self._is_begun or end > 0
        return end, unpacked

    def unpack(self, packed: bytes, room: memoryview) -> int | None:
        begin = done = 0
        while begin < len(packed):
            end = begin + _size(packed, begin)
            member, size = decompressor(packed[begin : begin + HEADER]), _content(packed, end)
            try:
                content = member.decompress(packed[begin:end], size + 1)
            except Exception as error:
                if is_damage(error):
                    return None
                raise
            if not member.eof or member.unused_data:
                return None
            room[done : done + size] = content
            begin, done = end, done + size
        return done

    def stream(self, ahead: Ahead) -> io.RawIOBase:
        return self._opened(ahead, self._is_begun)


def _size(data: bytes | bytearray, begin: int) -> int:
    """Return the packed size of the block that begins at `begin`, or 0 if no block begins there."""
    start, extra_size, extra, size = _BLOCK.unpack_from(data, begin)
    is_block = (start, extra_size, extra) == (b"\x1f\x8b\x08\x04", 6, b"BC\x02\x00") and size > _BLOCK.size + 8
    return int(size) + 1 if is_block else 0


def _content(data: bytes | bytearray, end: int) -> int:
    """Return the unpacked size of the block that ends at `end`, read from the block's trailer."""
    return int.from_bytes(data[end - 4 : end], "little")

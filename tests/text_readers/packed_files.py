"""Handmade compressed files, with members and frames of every kind, and their expected contents."""

from __future__ import annotations

import io
import random
import struct
import zlib
from typing import Any

from crayon_hf import CorpusError
from crayon_hf.text_readers.compression import unpacking

BLOCK = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\6\0BC\2\0"
"""The beginning of a BGZF block, followed by its size minus one in two bytes."""


def member(data: bytes, flags: int = 0, fields: bytes = b"", level: int = 6) -> bytes:
    """A member of .gz; `fields` follow the first ten bytes."""
    return b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\xff" + fields + deflated(data, level) + trailer(data)


def deflated(data: bytes, level: int = 6) -> bytes:
    """Deflated data without a header."""
    packer = zlib.compressobj(level, wbits=-15)
    return packer.compress(data) + packer.flush()


def trailer(data: bytes) -> bytes:
    """Checksum and size."""
    return struct.pack("<II", zlib.crc32(data), len(data))


def block(data: bytes, level: int = 6, bytes_more: int = 0) -> bytes:
    """A BGZF block whose header overstates its size by this many bytes."""
    packed = deflated(data, level)
    return BLOCK + struct.pack("<H", len(packed) + 25 + bytes_more) + packed + trailer(data)


def frame(data: bytes, says_size: bool = True, level: int = 3) -> bytes:
    """A frame of .zst."""
    import pyarrow

    if says_size:
        return bytes(pyarrow.Codec("zstd", level).compress(data))
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        for begin in range(0, len(data), 50_000):
            stream.write(data[begin : begin + 50_000])
            stream.flush()  # end a block
    return bytes(sink.getvalue())


def raw_frame(*blocks: bytes, window: int = 0x38) -> bytes:
    """A frame of uncompressed blocks without a content size. The default window is 128 KiB."""
    headers = [(len(data) << 3 | (i == len(blocks))).to_bytes(3, "little") for i, data in enumerate(blocks, 1)]
    return b"\x28\xb5\x2f\xfd\0" + bytes([window]) + b"".join(map(bytes.__add__, headers, blocks))


def skippable(data: bytes, kind: int = 0) -> bytes:
    """A frame without content."""
    return struct.pack("<II", 0x184D2A50 + kind, len(data)) + data


class Pipe(io.RawIOBase):
    """Bytes in pieces of up to `most`, as from a network, without seeking."""

    def __init__(self, data: bytes, most: int = 1 << 20, chance: random.Random | None = None) -> None:
        self._data, self._at, self._most, self._chance = data, 0, most, chance

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        most = self._most if self._chance is None else self._chance.randint(1, self._most)
        data = self._data[self._at : self._at + (min(most, size) if size >= 0 else most)]
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at


def outcome(raw: Any, packing: str, threads: int, reads: int = 1 << 18) -> tuple[bytes, str]:
    """The contents of `raw`, read in pieces of this size, and the error that ends it. `done` only grows, up to the
    end."""
    content: Any = unpacking(raw, packing, "x", threads)
    found, buffer, done = bytearray(), bytearray(reads), 0
    try:
        while size := content.readinto(buffer):
            found += memoryview(buffer)[:size]
            assert done <= (done := raw.tell() - getattr(content, "ahead", 0)) <= raw.tell()
        assert content.readinto(buffer) == getattr(content, "ahead", 0) == 0
        assert not raw.read(1)
    except CorpusError as error:
        return bytes(found), str(error)
    finally:
        content.close()
    return bytes(found), ""

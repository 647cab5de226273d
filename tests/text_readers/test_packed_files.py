"""Compressed files: ISA-L and zlib give the same contents, and find the same files damaged."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from crayon_hf import CorpusError
from crayon_hf.text_readers import compression
from crayon_hf.text_readers.compression import unpacking
from tests.support.sampling import sampled

TEXT = b"".join(b'{"text": "%d"}\n' % (i * i * i) for i in range(3000))
NOISE = random.Random(5).randbytes(5000)


def member(data: bytes, flags: int = 0, fields: bytes = b"", level: int = 6) -> bytes:
    """A gzip member (a compressed stream with header and trailer) of `data`. `fields` are the optional header fields,
    and `flags` says which."""
    packer = zlib.compressobj(level, wbits=-15)
    packed = packer.compress(data) + packer.flush()
    return b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\xff" + fields + packed + trailer(data)


def trailer(data: bytes) -> bytes:
    """The end of a gzip member: the checksum and the size of its data."""
    return struct.pack("<II", zlib.crc32(data), len(data))


class Pipe(io.RawIOBase):
    """A file without seeking that returns at most `most` bytes for a read, as a network does."""

    def __init__(self, data: bytes, most: int = 1 << 20) -> None:
        self._data, self._at, self._most = data, 0, most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._data[self._at : self._at + (min(self._most, size) if size >= 0 else self._most)]
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at


def outcome(raw: Pipe, packing: str, reads: int = 1 << 18) -> tuple[bytes, str]:
    """Unpack `raw` in reads of `reads` bytes. Returns the contents, and the error that ends them."""
    content: Any = unpacking(raw, packing, "x")  # type: ignore[arg-type]
    found, buffer = bytearray(), bytearray(reads)
    try:
        while size := content.readinto(buffer):
            found += memoryview(buffer)[:size]
        assert not raw.read(1)
    except CorpusError as error:
        return bytes(found), str(error)
    finally:
        content.close()
    return bytes(found), ""


WHOLE = member(TEXT)
FIELDS = {4: b"\4\0x\0yz", 8: b"name\0", 16: b"\xff comment\0"}


def with_fields(flags: int, wrong: int = 0) -> bytes:
    """A gzip member with the optional header fields that `flags` selects. `wrong` is added to the header's checksum."""
    fields = b"".join(field for flag, field in FIELDS.items() if flags & flag)
    if flags & 2:
        header = member(b"", flags, fields)[: 10 + len(fields)]
        fields += struct.pack("<H", (zlib.crc32(header) + wrong) & 0xFFFF)
    return member(TEXT, flags, fields)


GOOD = {
    "noise": (member(NOISE), NOISE),
    "stored": (member(NOISE, level=0), NOISE),
    "far more unpacked": (member(bytes(3 << 20)), bytes(3 << 20)),
    "members": (b"".join(member(TEXT[i : i + 77]) for i in range(0, 7700, 77)), TEXT[:7700]),
    "empty members": (member(b"") * 3 + WHOLE + member(b"") * 2, TEXT),
    "zeros between": (WHOLE + bytes(700) + WHOLE + bytes(3) + member(b"") + bytes(9), TEXT * 2),
    "long name": (member(TEXT, 8, b"n" * 70_000 + b"\0"), TEXT),
} | {f"fields {flags}": (with_fields(flags), TEXT) for flags in range(32)}

BAD = {
    "nothing": (b"", "empty"),
    "zeros": (bytes(50), "incorrect header"),
    "text": (b"not packed", "incorrect header"),
    "another method": (WHOLE[:2] + b"\7" + WHOLE[3:], "compression method"),
    "flags without meaning": (member(TEXT, 0xC8, b"\0"), "header flags"),
    "checksum of the header": (with_fields(31, 1), "header crc"),
    "more behind": (WHOLE + b"more", "incorrect header"),
    "a byte behind": (WHOLE + b"m", "ends in the middle"),
    "cut off": (WHOLE + WHOLE[:-1], "ends in the middle"),
    "checksum": (WHOLE[:-8] + bytes([WHOLE[-8] ^ 1]) + WHOLE[-7:], "check"),
    "size": (WHOLE[:-4] + bytes([WHOLE[-4] ^ 1]) + WHOLE[-3:], "check"),
    "checksum of others": (WHOLE[:-8] + trailer(TEXT[:-1]), "check"),
}


@pytest.fixture(params=["isal", "zlib"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with the library isal, and without it, with zlib."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    compression._isal.cache_clear()
    yield request.param
    compression._isal.cache_clear()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", [*sampled(GOOD, 3), *BAD])
def test_members(name: str) -> None:
    """Good and bad sequences of gzip members give the expected contents or error, read in pieces of any size."""
    data, expected = {**GOOD, **BAD}[name]
    for most, reads in ((1, 100_000), (7, 1000), (1000, 50), (1 << 20, 1 << 20)):
        found, error = outcome(Pipe(data, most), ".gz", reads)
        if isinstance(expected, bytes):
            assert (found, error) == (expected, "")
        else:
            assert error.startswith("x: damaged .gz file: ")
            assert expected in error
            assert (2 * TEXT).startswith(found)


@pytest.mark.usefixtures("library")
def test_flipped_bits() -> None:
    """A file with a flipped bit is damaged if zlib says so: a changed time or system in a header is valid."""
    chance = random.Random(7)
    places = [*range(12), *range(len(WHOLE) - 8, len(WHOLE)), *(chance.randrange(len(WHOLE)) for _ in range(50))]
    for place in places:
        bit = 1 << chance.randrange(8)
        data = WHOLE[:place] + bytes([WHOLE[place] ^ bit]) + WHOLE[place + 1 :]
        judge = zlib.decompressobj(wbits=31)
        is_good = False
        with contextlib.suppress(zlib.error):
            is_good = judge.decompress(data) == TEXT and judge.eof and not judge.unused_data
        found, error = outcome(Pipe(data), ".gz")
        assert (error == "") == is_good, (place, bit)
        assert found == TEXT or error.startswith("x: damaged .gz file: ")


@pytest.mark.slow
def test_frames_of_zstandard() -> None:
    """All frames of a file are read, of any size, empty and skippable ones too. A truncated one is an error."""
    pyarrow = pytest.importorskip("pyarrow")
    parts = [TEXT, b"", NOISE, TEXT * 9, b"a"]
    frames = [bytes(pyarrow.compress(part, "zstd", asbytes=True)) for part in parts]
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"other"
    data = skippable + frames[0] + skippable.join(frames)
    for most, reads in ((1, 100_000), (50, 300), (1 << 20, 1 << 20)):
        assert outcome(Pipe(data, most), ".zst", reads) == (b"".join((TEXT, *parts)), "")
        found, error = outcome(Pipe(data[:-3], most), ".zst", reads)
        assert error.startswith("x: damaged .zst file: ")
        assert b"".join((TEXT, *parts)).startswith(found)

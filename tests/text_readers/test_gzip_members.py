"""Members of .gz: ISA-L and zlib give the same content, and find the same files damaged, however they arrive."""

from __future__ import annotations

import random
import struct
import sys
import zlib
from collections.abc import Iterator

import pytest

from crayon_hf.text_readers import gzip_members
from tests.support.sampling import sampled
from tests.text_readers.packed_files import Pipe, member, outcome, trailer

TEXT = b"".join(b'{"text": "%d"}\n' % (i * i * i) for i in range(3000))
NOISE = random.Random(5).randbytes(5000)
WHOLE = member(TEXT)

FIELDS = {4: b"\4\0x\0yz", 8: b"name\0", 16: b"\xff comment\0"}


def with_fields(flags: int, wrong: int = 0) -> bytes:
    """A member with those fields of the header; what is added makes its checksum wrong."""
    fields = b"".join(field for flag, field in FIELDS.items() if flags & flag)
    if flags & 2:
        header = member(b"", flags, fields)[: 10 + len(fields)]
        fields += struct.pack("<H", (zlib.crc32(header) + wrong) & 0xFFFF)
    return member(TEXT, flags, fields)


GOOD = {
    "plain": (WHOLE, TEXT),
    "noise": (member(NOISE), NOISE),
    "stored": (member(NOISE, level=0), NOISE),
    "empty": (member(b""), b""),
    "far more unpacked": (member(bytes(3 << 20)), bytes(3 << 20)),
    "members": (b"".join(member(TEXT[i : i + 77]) for i in range(0, 7700, 77)), TEXT[:7700]),
    "empty members": (member(b"") * 3 + WHOLE + member(b"") * 2, TEXT),
    "zeros behind": (WHOLE + bytes(700), TEXT),
    "zeros between": (WHOLE + bytes(700) + WHOLE + bytes(3) + member(b""), TEXT * 2),
    "long extra field": (member(TEXT, 4, struct.pack("<H", 60_000) + bytes(60_000)), TEXT),
    "long name": (member(TEXT, 8, b"n" * 70_000 + b"\0"), TEXT),
    "no name": (member(TEXT, 8, b"\0"), TEXT),
} | {f"fields {flags}": (with_fields(flags), TEXT) for flags in range(32)}

BAD = {
    "nothing": (b"", "it is empty"),
    "zeros": (bytes(50), "incorrect header check"),
    "text": (b"not packed", "incorrect header check"),
    "another method": (WHOLE[:2] + b"\7" + WHOLE[3:], "unknown compression method"),
    "a flag without meaning": (member(TEXT, 0x20), "unknown header flags"),
    "two of them": (member(TEXT, 0xC8, b"\0"), "unknown header flags"),
    "checksum of the header": (with_fields(2, 1), "header crc mismatch"),
    "checksum of a longer header": (with_fields(31, 1), "header crc mismatch"),
    "more behind": (WHOLE + b"more", "incorrect header check"),
    "a byte behind": (WHOLE + b"m", "it ends in the middle"),
    "zeros, then more": (WHOLE + bytes(9) + b"more", "incorrect header check"),
    "a second one cut off": (WHOLE + WHOLE[:-1], "it ends in the middle"),
    "checksum": (WHOLE[:-8] + bytes([WHOLE[-8] ^ 1]) + WHOLE[-7:], "check"),
    "size": (WHOLE[:-4] + bytes([WHOLE[-4] ^ 1]) + WHOLE[-3:], "check"),
    "checksum of others": (WHOLE[:-8] + trailer(TEXT[:-1]), "check"),
}


@pytest.fixture(params=["isal", "zlib"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With isal, and as without it."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    gzip_members._isal.cache_clear()
    yield request.param
    gzip_members._isal.cache_clear()


def test_the_library_that_is_there(library: str) -> None:
    """For the members that it reads rightly."""
    slow = type(zlib.decompressobj())
    fast = [flags for flags in range(256) if type(gzip_members.decompressor(member(b"", flags)[:4])) is not slow]
    assert fast == ([0, 4, 8] if library == "isal" else [])


@pytest.mark.parametrize("name", sampled(GOOD, 3))
def test_good_files(name: str) -> None:
    data, content = GOOD[name]
    for most, reads in ((1, 100_000), (7, 1000), (1000, 50), (1 << 20, 1 << 20)):
        assert outcome(Pipe(data, most), ".gz", 1, reads) == (content, "")


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str) -> None:
    data, message = BAD[name]
    for most, reads in ((1, 100_000), (7, 1000), (1000, 100), (1 << 20, 1 << 20)):
        found, error = outcome(Pipe(data, most), ".gz", 1, reads)
        assert error.startswith("x: damaged .gz file: ")
        assert message in error
        assert (2 * TEXT).startswith(found)


@pytest.mark.slow
def test_cut_off_anywhere() -> None:
    for size in (*range(1, 40), *range(40, len(WHOLE) - 20, 997), *range(len(WHOLE) - 20, len(WHOLE))):
        for most in (5, 1 << 20):
            found, error = outcome(Pipe(WHOLE[:size], most), ".gz", 1)
            assert error == "x: damaged .gz file: it ends in the middle"
            assert TEXT.startswith(found)


@pytest.mark.slow
def test_each_header_in_two_pieces() -> None:
    """Wherever a read ends."""
    for flags in range(32):
        data = with_fields(flags)
        for size in range(1, 60):
            assert outcome(TwoPieces(data, size), ".gz", 1) == (TEXT, "")


class TwoPieces(Pipe):
    """The first read gives `most` bytes, the second one the rest."""

    def read(self, size: int = -1, /) -> bytes:
        data = super().read(size)
        self._most = 1 << 20
        return data


def test_flipped_bits() -> None:
    """As zlib alone judges: a time or a system in the header may be another one."""
    chance = random.Random(7)
    places = [*range(12), *range(len(WHOLE) - 8, len(WHOLE)), *(chance.randrange(len(WHOLE)) for _ in range(150))]
    for place in places:
        bit = 1 << chance.randrange(8)
        data = WHOLE[:place] + bytes([WHOLE[place] ^ bit]) + WHOLE[place + 1 :]
        judge = zlib.decompressobj(wbits=31)
        try:
            is_good = judge.decompress(data) == TEXT and judge.eof and not judge.unused_data
        except zlib.error:
            is_good = False
        found, error = outcome(Pipe(data), ".gz", 1)
        assert (error == "") == is_good, (place, bit)
        assert found == TEXT or error.startswith("x: damaged .gz file: ")

"""Compressed files: ISA-L and zlib, one thread and several, give the same contents, and find the same files damaged."""

from __future__ import annotations

import contextlib
import random
import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from crayon_hf import CorpusError
from crayon_hf.corpora import Reading, find_inputs, read_documents
from crayon_hf.text_readers import gzip_members, packed_parts, zstandard_frames
from tests.support.sampling import sampled
from tests.text_readers.packed_files import BLOCK, Pipe, block, frame, member, outcome, raw_frame, skippable, trailer

TEXT = b"".join(b'{"text": "%d"}\n' % (i * i * i) for i in range(3000))
NOISE = random.Random(5).randbytes(5000)
WHOLE = member(TEXT)
FIELDS = {4: b"\4\0x\0yz", 8: b"name\0", 16: b"\xff comment\0"}


def with_fields(flags: int, wrong: int = 0) -> bytes:
    """A member with these header fields. Extra bytes make its checksum wrong."""
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
    "zeros": (WHOLE + bytes(700) + WHOLE + bytes(3) + member(b"") + bytes(9), TEXT * 2),
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
    """With isal and without it."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    gzip_members._isal.cache_clear()
    yield request.param
    gzip_members._isal.cache_clear()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", [*sampled(GOOD, 3), *BAD])
def test_members(name: str) -> None:
    """In pieces of any size."""
    data, expected = {**GOOD, **BAD}[name]
    for most, reads in ((1, 100_000), (7, 1000), (1000, 50), (1 << 20, 1 << 20)):
        found, error = outcome(Pipe(data, most), ".gz", 1, reads)
        if isinstance(expected, bytes):
            assert (found, error) == (expected, "")
        else:
            assert error.startswith("x: damaged .gz file: ")
            assert expected in error
            assert (2 * TEXT).startswith(found)


@pytest.mark.usefixtures("library")
def test_flipped_bits() -> None:
    """By zlib's judgement: a changed time or system in the header is valid."""
    chance = random.Random(7)
    places = [*range(12), *range(len(WHOLE) - 8, len(WHOLE)), *(chance.randrange(len(WHOLE)) for _ in range(50))]
    for place in places:
        bit = 1 << chance.randrange(8)
        data = WHOLE[:place] + bytes([WHOLE[place] ^ bit]) + WHOLE[place + 1 :]
        judge = zlib.decompressobj(wbits=31)
        is_good = False
        with contextlib.suppress(zlib.error):
            is_good = judge.decompress(data) == TEXT and judge.eof and not judge.unused_data
        found, error = outcome(Pipe(data), ".gz", 1)
        assert (error == "") == is_good, (place, bit)
        assert found == TEXT or error.startswith("x: damaged .gz file: ")


# -- parts in several threads


@contextlib.contextmanager
def small_parts(packed: int = 1, unpacked: int = 1, too_much: int = 1 << 20, read: int = 1 << 17) -> Iterator[None]:
    """Parts of at least `packed` and `unpacked` bytes, and of at most `too_much`, found by reads of `read` bytes."""
    enough = {"ENOUGH_PACKED": packed, "ENOUGH_UNPACKED": unpacked}
    with (
        mock.patch.multiple(gzip_members, **enough),
        mock.patch.multiple(zstandard_frames, TOO_MUCH=too_much, **enough),
        mock.patch.multiple(packed_parts, _READ=read),
    ):
        yield


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("crayon-unpacking")]


def piece(packing: str, chance: random.Random) -> tuple[bytes, bytes]:
    """A member or a frame, and its content."""
    data = (TEXT * 3)[: chance.choice((0, 1, 10, 200, 3000, 60_000, 140_000))]
    kind = chance.randrange(10)
    if packing == ".gz":
        data = data[:60_000]
        if kind < 7:
            return block(data, chance.choice((0, 1, 6))), data
        if kind < 9:
            return block(data, 1, chance.choice((-3, 5, 400))), data  # zlib ignores the wrong size
        return member(data), data
    if kind < 7:
        return frame(data, kind < 4, chance.choice((1, 3, 19))), data
    if kind < 9:
        return raw_frame(data[:7], b"", data[7:100]), data[:100]
    return skippable(data[:3000], chance.randrange(16)), b""


def damaged(pieces: list[bytes], chance: random.Random) -> bytes:
    """Damage near a border is more frequent."""
    data = b"".join(pieces)
    border = len(b"".join(pieces[: chance.randrange(len(pieces) + 1)]))
    place = chance.choice((border + chance.randint(-12, 24), chance.randrange(len(data) + 1)))
    place = max(0, min(place, len(data)))
    kind = chance.randrange(5)
    if kind == 0:
        return data[:place]
    if kind == 1 and place < len(data):
        return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    if kind == 2:
        return data[:place] + data[place + chance.randint(1, 8) :]
    more = (b"m", b"more", b"\0", bytes(600), chance.randbytes(40), b"\x28\xb5\x2f\xfd", BLOCK)[chance.randrange(7)]
    return data + more if kind == 3 else data[:place] + more + data[place:]


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_as_one_thread(packing: str, is_damaged: bool) -> None:
    """Any pieces with any damage, in reads and parts of any size."""
    pytest.importorskip("pyarrow")
    for turn in range(80):
        chance = random.Random(f"{packing} {is_damaged} {turn}")
        pieces = [piece(packing, chance) for _ in range(chance.randrange(1, 9))]
        data = b"".join(each for each, _ in pieces)
        if is_damaged:
            data = damaged([each for each, _ in pieces], chance)
        most = chance.choice((3, 100, 1 << 20) if len(data) < 20_000 else (1000, 1 << 20))
        reads = chance.choice((100, 5000, 1 << 18))
        expected, error = outcome(Pipe(data, most), packing, 1, reads)
        if not is_damaged:
            assert (expected, error) == (b"".join(content for _, content in pieces), "")
        packed, unpacked = chance.choice((1, 1000, 1 << 20)), chance.choice((1, 1000, 4 << 20))
        too_much = chance.choice((50, 4000, 150_000, 40 << 20))
        read = chance.choice((10, 1 << 17) if len(data) < 20_000 else (5000, 1 << 17))
        with small_parts(packed, unpacked, too_much, read):
            content, error_now = outcome(Pipe(data, most, chance), packing, chance.choice((4, 5, 9)), reads)
        assert bool(error_now) == bool(error)
        assert error_now.startswith(f"x: damaged {packing} file: ") or content == expected
    assert not threads()


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.jsonl.gz"])
@pytest.mark.parametrize("end", ["closed", "dropped", "error", "all read"])
def test_no_thread_is_left(name: str, end: str, tmp_path: Path) -> None:
    """However reading ends. Several threads read ahead, which does not count as read."""
    pytest.importorskip("pyarrow")
    pieces = [TEXT[i : i + 500] for i in range(0, len(TEXT), 500)]
    data = b"".join(map(frame if name.endswith("zst") else block, pieces))
    (tmp_path / name).write_bytes(data[:-9] if end == "error" else data)
    (found,) = find_inputs([tmp_path / name])
    with small_parts():
        batches: Any = read_documents(found, Reading(batch_bytes=2000, threads=4))
        first = next(batches)
        assert len(threads()) > 1
        assert first.size < found.size / 9
        if end == "closed":
            batches.close()
        elif end == "error":
            with pytest.raises(CorpusError, match="damaged"):
                list(batches)
        elif end == "all read":
            assert sum(len(batch.begins) for batch in [first, *batches]) == 3000
        else:
            del batches
        assert not threads()

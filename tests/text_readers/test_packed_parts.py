"""Parts of packed files in several threads: bytes and errors are those of one thread, and no thread is left."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import random
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from crayon_hf import CorpusError
from crayon_hf.corpora import Reading, find_inputs, read_documents
from crayon_hf.text_readers import gzip_members, packed_parts, zstandard_frames
from crayon_hf.text_readers.compression import unpacking
from crayon_hf.text_readers.stored import Stored
from tests.text_readers.packed_files import (
    BLOCK,
    CHECKED_FRAME,
    END_OF_BGZF,
    Pipe,
    block,
    frame,
    member,
    outcome,
    raw_frame,
    skippable,
    trailer,
)
from tests.text_readers.reading_reference import Contents, read, texts_of

pytestmark = [pytest.mark.slow, pytest.mark.concurrency]
pyarrow = pytest.importorskip("pyarrow")

FEW = {".gz": (2, 3), ".zst": (4, 5)}
"""Threads that unpack in parts."""
Piece = tuple[bytes, bytes]
"""A member or a frame, and its content."""


@contextlib.contextmanager
def small_parts(packed: int = 1, unpacked: int = 1, too_much: int = 1 << 20, read: int = 1 << 17) -> Iterator[None]:
    """Parts of at least so many bytes, none of more than `too_much`, found by reads of `read` bytes."""
    enough = {"ENOUGH_PACKED": packed, "ENOUGH_UNPACKED": unpacked}
    with (
        mock.patch.multiple(gzip_members, **enough),
        mock.patch.multiple(zstandard_frames, TOO_MUCH=too_much, **enough),
        mock.patch.multiple(packed_parts, _READ=read),
    ):
        yield


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("crayon-unpacking")]


def content_of(size: int, chance: random.Random) -> bytes:
    kind = chance.randrange(3)
    if kind == 0:
        return chance.randbytes(size)
    if kind == 1:
        return bytes([chance.randrange(256)]) * size
    return b"".join(b'{"text": %d}\n' % chance.randrange(1000) for _ in range(size // 12 + 1))[:size]


def gzip_piece(chance: random.Random) -> Piece:
    data = content_of(chance.choice((0, 1, 10, 200, 3000, 60_000)), chance)
    kind = chance.randrange(20)
    if kind < 15:
        return block(data, chance.choice((0, 1, 6))), data
    if kind < 17:
        return block(data, 1, chance.choice((-3, 5, 400))), data  # the size is wrong, which zlib does not mind
    return ((member(data), data), (bytes(chance.randrange(1, 60)), b""), (END_OF_BGZF, b""))[kind - 17]


def zstandard_piece(chance: random.Random) -> Piece:
    data = content_of(chance.choice((0, 1, 10, 200, 3000, 140_000)), chance)
    kind = chance.randrange(20)
    if kind < 14:
        return frame(data, kind < 7, chance.choice((1, 3, 19))), data
    if kind < 16:
        return raw_frame(data[:7], b"", data[7:100]), data[:100]
    if kind < 18:
        return CHECKED_FRAME, b"hello, world\n"
    return skippable(chance.randbytes(chance.choice((0, 4, 3000))), chance.randrange(16)), b""


def damaged(pieces: list[bytes], chance: random.Random) -> bytes:
    """Near a border more often than elsewhere."""
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


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_as_one_thread(packing: str, is_damaged: bool, seed: int) -> None:
    """Any pieces, damaged anywhere, in reads and parts of any size."""
    found = {"": 0, "damaged": 0}
    for turn in range(40):
        chance = random.Random(f"{packing} {is_damaged} {seed} {turn}")
        pieces = [(gzip_piece if packing == ".gz" else zstandard_piece)(chance) for _ in range(chance.randrange(1, 9))]
        data = b"".join(packed for packed, _ in pieces)
        if is_damaged:
            data = damaged([packed for packed, _ in pieces], chance)
        most = chance.choice((3, 100, 1 << 20) if len(data) < 20_000 else (1000, 1 << 20))
        reads = chance.choice((100, 5000, 1 << 18))
        expected, error = outcome(Pipe(data, most), packing, 1, reads)
        if not is_damaged and data[:1] != b"\0":
            assert (expected, error) == (b"".join(content for _, content in pieces), "")
        with small_parts(
            chance.choice((1, 1000, 1 << 20)),
            chance.choice((1, 1000, 4 << 20)),
            chance.choice((50, 4000, 150_000, 40 << 20)),
            chance.choice((10, 1 << 17) if len(data) < 20_000 else (5000, 1 << 17)),
        ):
            content, error_now = outcome(Pipe(data, most, chance), packing, chance.choice((*FEW[packing], 9)), reads)
        assert bool(error_now) == bool(error)
        assert error_now.startswith(f"x: damaged {packing} file: ") or content == expected
        found["damaged" if error else ""] += 1
    assert not threads()
    assert found["damaged"] > 10 if is_damaged else found[""] > 30


PIECES = {
    ".gz": [(block(data), data) for data in (b"first" * 9, b"", b"the last one")],
    ".zst": [
        (frame(b"first" * 9, False), b"first" * 9),
        (skippable(b"seek me"), b""),
        (CHECKED_FRAME, b"hello, world\n"),
        (raw_frame(b""), b""),
        (frame(b"the last one"), b"the last one"),
    ],
}


@pytest.mark.parametrize("packing", PIECES)
def test_every_place(packing: str) -> None:
    """Cut off, changed, or with something put in, at every byte of a small file."""
    pieces = PIECES[packing]
    data = b"".join(packed for packed, _ in pieces)
    borders = {len(b"".join(packed for packed, _ in pieces[:count])): count for count in range(len(pieces) + 1)}
    versions = [data[:size] for size in range(len(data))]
    versions += [data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :] for i in range(len(data)) for bit in (0, 5, 7)]
    versions += [data[:i] + more + data[i:] for i in range(len(data) + 1) for more in (b"\0", b"x", pieces[0][0])]
    with small_parts():
        for version in versions:
            expected, error = outcome(Pipe(version), packing, 1)
            content, error_now = outcome(Pipe(version), packing, FEW[packing][0])
            assert (error_now, content) == (error, expected) or (error_now and error)
        for size, count in borders.items():
            expected, error = outcome(Pipe(data[:size]), packing, FEW[packing][1])
            assert error == ("" if count else f"x: damaged {packing} file: it is empty")
            assert expected == b"".join(content for _, content in pieces[:count])
    assert not threads()


@pytest.mark.parametrize(
    ("data", "packing", "message"),
    [
        (CHECKED_FRAME[:-1] + b"\0", ".zst", "checksum"),
        (skippable(bytes(99))[:50], ".zst", ""),
        (struct.pack("<II", 0x184D2A50, 0xFFFFFFF0), ".zst", ""),
        (raw_frame(b"")[:6] + bytes(3000), ".zst", ""),  # blocks without end and without content
        (raw_frame(b"")[:6] + b"\7\0\0", ".zst", ""),  # a kind of block that there is not
        (raw_frame(b"a", window=0xFF), ".zst", ""),  # wants more memory than anybody gives
        (b"\x28\xb5\x2f\xfd\xe8" + bytes(20), ".zst", ""),
        (b"\x28\xb5\x2f\xfd\x21\1", ".zst", ""),  # ends in the header
        (block(b"a")[:-8] + trailer(b"b"), ".gz", "check"),
        (block(bytes(1 << 20))[:-4] + b"\5\0\0\0", ".gz", "check"),  # far more content than it says
        (block(b"a")[:-4] + b"\0\0\1\1", ".gz", "check"),
        (BLOCK + b"\0\0", ".gz", ""),
    ],
)
def test_what_is_wrong_in_the_middle(data: bytes, packing: str, message: str) -> None:
    """The error of one thread, behind all that is right."""
    (before, content), (after, _) = PIECES[packing][0], PIECES[packing][-1]
    data = before * 5 + data + after * 5
    with small_parts(too_much=1000):
        found, error = outcome(Pipe(data), packing, FEW[packing][0])
    assert error == outcome(Pipe(data), packing, 1)[1]
    assert error.startswith(f"x: damaged {packing} file: ")
    assert message in error
    assert found.startswith(content * 5)


def test_sizes_that_are_not_true() -> None:
    """A header that says another size of its member than it has: as for who does not look there."""
    second = b"two and its size: " + struct.pack("<I", 22)  # without the trailer this looks like one
    after = block(b"three" * 50)
    for more in (-20, -8, -1, 1, 20, 3000, len(after), 2 * len(after)):
        data = block(b"one" * 50) * 3 + block(second, 0, more) + after * 7
        with small_parts():
            assert outcome(Pipe(data), ".gz", 3) == (b"one" * 150 + second + b"three" * 350, "")


HEADER = b"\x28\xb5\x2f\xfd"
CUTS = [
    (frame(bytes(255)), 255),  # the size in one byte, two, four
    (frame(bytes(256)), 256),
    (frame(bytes(70_000)), 70_000),
    (CHECKED_FRAME, 13),
    (raw_frame(b"one", b"", b"three"), 8),
    (raw_frame(b""), 0),
    (HEADER + b"\1\0d" + b"\1\0\0", 0),  # numbers of dictionaries, in one byte, two, four
    (HEADER + b"\2\0dd" + b"\1\0\0", 0),
    (HEADER + b"\3\0dddd" + b"\1\0\0", 0),
    (HEADER + b"\xc0\0" + b"\5\0\0\0\0\0\0\0" + b"\1\0\0", 5),  # the size in eight bytes
    (HEADER + b"\0\0" + b"\xfb\xff\3z", 0x7FFF),  # a byte that is repeated
    (HEADER + b"\0\0" + b"\x14\0\0zz" + b"\x15\0\0zz", 2 << 10),  # packed blocks: as large as the window
    (HEADER + b"\0\x0b" + b"\x15\0\0zz", 2816),
    (HEADER + b"\0\x60" + b"\x15\0\0zz", 1 << 17),
    (skippable(b""), 0),
    (skippable(b"some", 15), 0),
    (block(b"some"), 4),
    (END_OF_BGZF, 0),
]
NO_PARTS = [
    HEADER + b"\x08\0" + b"\1\0\0",  # a bit that is reserved
    HEADER + b"\0\0" + b"\7\0\0",  # such a kind of block
    HEADER + b"\0\x51" + b"\1\0\0",  # the window is too large
    frame(bytes((1 << 20) + 1)),  # so is the content
    HEADER + b"\0\0" + b"\xfb\xff\xffz",
    HEADER + b"\0\0" + b"\0\0\0" * (350 << 10),  # and these are too many blocks, though they have no content
    skippable(bytes(1 << 20)),
    struct.pack("<II", 0x184D2A60, 0),
    member(b"some"),
    block(bytes(70_000)),
    BLOCK + b"\x10\0" + bytes(20),
]


def cut(data: bytes) -> tuple[int, int]:
    format: Any = gzip_members.Blocks(lambda *_: None)  # type: ignore[return-value]
    if data[0] != 0x1F:
        format = zstandard_frames.Frames(pyarrow, lambda *_: None)  # type: ignore[return-value]
    return format.cut(packed_parts.Ahead(Pipe(data, 1 << 30)))  # type: ignore[arg-type]


def test_where_parts_end() -> None:
    """Small ones go together, until they are enough."""
    for data, content in CUTS:
        assert cut(data) == (len(data), content)
        for size in range(max(1, len(data) - 40), len(data)):
            assert cut(data[:size]) == (0, 0)
        assert cut(data * 2 + data[:-1]) == (2 * len(data), 2 * content)
        assert cut(data + b"more and more") == (len(data), content)
    packed = {size: len(frame(bytes(size))) for size in (1 << 20, 3 << 20)}
    with small_parts(1 << 20, 4 << 20, 1 << 20):
        for data in NO_PARTS:
            assert cut(data + bytes(50)) == (0, 0)
            before = CHECKED_FRAME if data[0] != 0x1F else block(b"hello, world\n")
            assert cut(before + data) == (len(before), 13)
        assert cut(frame(bytes(1 << 20)) * 2) == (packed[1 << 20], 1 << 20)
    assert cut(frame(bytes(3 << 20)) * 9) == (2 * packed[3 << 20], 6 << 20)
    noise = random.Random(3).randbytes(60_000)
    assert cut(block(noise) * 99) == (18 * len(block(noise)), 18 * len(noise))
    assert cut(block(bytes(60_000)) * 99) == (70 * len(block(bytes(60_000))), 70 * 60_000)


def test_a_part_with_more_than_was_said() -> None:
    frames = zstandard_frames.Frames(pyarrow, lambda *_: None)  # type: ignore[return-value]
    for size, expected in ((100, None), (101, 100)):
        assert frames.unpack(frame(bytes(100)), memoryview(bytearray(size))) == expected


def test_frames_that_are_too_large() -> None:
    """They are read on the way; parts are before and behind."""
    large = random.Random(3).randbytes(300_000)
    for says_size in (False, True):
        data = CHECKED_FRAME * 9 + frame(large, says_size) + skippable(bytes(200_000)) + CHECKED_FRAME * 9
        begun = []
        with small_parts(too_much=100_000), unpacking(Pipe(data), ".zst", "x", 4) as content:  # type: ignore[arg-type]
            found, buffer = bytearray(), bytearray(1000)
            while size := content.readinto(buffer):
                found += buffer[:size]
                begun.append(len(content._parts))  # type: ignore[attr-defined]
        assert found == b"hello, world\n" * 9 + large + b"hello, world\n" * 9
        assert begun[0] == 4
        assert begun[20:250] == [0] * 230
        assert begun[-6:] == [4, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_no_more_ahead_than_said(packing: str) -> None:
    """Bytes of the file, and how many of them count as read."""
    noise = random.Random(1).randbytes(60_000)
    part = block(noise) * 18 if packing == ".gz" else frame(random.Random(1).randbytes(1 << 20))
    raw = Pipe(part * 20)
    with unpacking(raw, packing, "x", 4) as content:  # type: ignore[arg-type]
        assert content.readinto(bytearray(1)) == 1
        assert 5 * len(part) < raw.tell() < 5.2 * len(part)
        assert raw.tell() - content.ahead == len(part)  # type: ignore[attr-defined]
        assert 1 <= len(threads()) <= 4
    assert not threads()


def test_one_part_needs_no_threads() -> None:
    """A frame, a member, a few small ones."""
    text = b"a" * 9000
    for packing, data in (
        (".zst", frame(text)),
        (".zst", CHECKED_FRAME * 9),
        (".gz", member(text)),
        (".gz", block(text) * 3),
    ):
        with unpacking(Pipe(data), packing, "x", 8) as content:  # type: ignore[arg-type]
            while content.readinto(bytearray(50)):
                assert not threads()


@pytest.mark.parametrize(("packing", "count"), [(".gz", 1), (".zst", 1), (".zst", 3)])
def test_so_few_threads_that_none_is_begun(packing: str, count: int) -> None:
    with small_parts(), unpacking(Pipe(PIECES[packing][0][0] * 9), packing, "x", count) as content:  # type: ignore[arg-type]
        while content.readinto(bytearray(50)):
            assert not threads()


@pytest.fixture(params=["a.jsonl.zst", "a.jsonl.gz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Of 80 parts or more, if parts are as `small_parts` has them."""
    lines = b"".join(json.dumps({"text": f"row {i} " * 9}).encode() + b"\n" for i in range(5000))
    pieces = [lines[i : i + 5000] for i in range(0, len(lines), 5000)]
    path = tmp_path / request.param
    path.write_bytes(b"".join(map(frame if path.suffix == ".zst" else block, pieces)))
    return path


def test_documents(file: Path) -> None:
    """All of them, from every place where a batch ends, with any number of threads."""
    expected = Contents([f"row {i} ".encode() * 9 for i in range(5000)], [])
    (found,) = find_inputs([file])
    for count in (1, 4, 0):
        with small_parts():
            assert read(found, Reading(batch_bytes=70_000, threads=count)) == expected


def test_progress(file: Path) -> None:
    """What is read ahead does not count."""
    (found,) = find_inputs([file])
    with small_parts():
        sizes = [batch.size for batch in read_documents(found, Reading(batch_bytes=5000, threads=4))]
    assert max(after - before for before, after in itertools.pairwise([0, *sizes])) < 4000
    assert sizes[-1] == found.size


def test_an_address_of_fsspec(file: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe(f"/packed_parts/{file.name}", file.read_bytes())
    try:
        (found,) = find_inputs([f"memory://packed_parts/{file.name}"])
        with small_parts():
            texts = [text for batch in read_documents(found, Reading(threads=4)) for text in texts_of(batch)]
    finally:
        fsspec.filesystem("memory").rm("/packed_parts", recursive=True)
    assert texts == [f"row {i} ".encode() * 9 for i in range(5000)]


@pytest.mark.parametrize("end", ["closed", "dropped", "error", "all read"])
def test_nothing_is_left(file: Path, end: str) -> None:
    """Neither threads nor memory, however the reading ends."""
    (found,) = find_inputs([file])
    with small_parts():
        list(read_documents(found, Reading(threads=4)))  # libraries are loaded
        if end == "error":
            file.write_bytes(file.read_bytes()[:-9])
            (found,) = find_inputs([file])
        gc.collect()
        tracemalloc.start()
        try:
            batches: Any = read_documents(found, Reading(batch_bytes=20_000, threads=4))
            next(batches)
            assert threads()
            if end == "closed":
                batches.close()
            elif end == "error":
                with pytest.raises(CorpusError, match="damaged") as error:
                    list(batches)
                assert not threads()  # though the error still shows what read
                del error
            elif end == "all read":
                list(batches)
            else:
                del batches
            assert not threads()
            batches = None
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < 100_000
        finally:
            tracemalloc.stop()


def test_what_is_closed_has_no_memory(file: Path) -> None:
    with small_parts(), open(file, "rb", buffering=0) as raw:
        content = unpacking(raw, file.suffix, "x", 4)
        tracemalloc.start()
        try:
            while content.readinto(bytearray(100)):
                pass
            content.close()
            assert tracemalloc.get_traced_memory()[0] < 10_000
        finally:
            tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.forks_from_threads
def test_a_fork_in_between(file: Path) -> None:
    """The child has none of the threads, and closes what it got all the same; the parent reads on."""
    (found,) = find_inputs([file])
    with small_parts(), Stored(found, file.suffix, 4) as source:
        assert source.readinto(memoryview(bytearray(9)))
        child = os.fork()
        if not child:
            try:
                source._content.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        size = 9
        while read := source.readinto(memoryview(bytearray(1 << 20))):
            size += read
    assert size == sum(len(json.dumps({"text": f"row {i} " * 9})) + 1 for i in range(5000))

"""Fixtures for tests with texts of more than 4 GiB, which only ``make huge`` runs: each takes minutes, and up to 14 GiB
of memory.

A text repeats one block, so that the reference's ids of the block determine those of the text.

A block begins with a letter and ends with a line break after a full stop. Every vocabulary here cuts between a line
break and a letter in any context. The gpt2 pattern has no alternative in which a letter follows white space other than
one space, and BERT's pre-tokenizer cuts at all white space. So the ids of the whole are those of the block, repeated.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tokenizers

from tests.conftest import SENTENCES

Ids = npt.NDArray[np.int32]

TAIL = b"And this is the end\xe2\x80\xa6 of it"
"""The text after the last block, with another end than a block."""


def block_of(size: int, seed: int = 9) -> bytes:
    """About `size` bytes of text in many scripts."""
    rng = random.Random(seed)
    words = [word for sentence in SENTENCES for word in sentence.split()]
    lines = ["Here it begins."]
    while size > 0:
        line = " ".join(rng.choice(words) for _ in range(rng.randrange(3, 40))) + rng.choice(["", " ", ".", "  "])
        lines.append(line)
        size -= len(line.encode()) + 1
    return "\n".join([*lines, "Here it ends.\n"]).encode()


class Repeated:
    """The ids and offsets that ``tokenizers`` gives for a block and for the tail."""

    def __init__(self, vocabulary: Path, block: bytes, tail: bytes = TAIL) -> None:
        self.vocabulary, self.block = vocabulary, block
        self.reference = tokenizers.Tokenizer.from_file(str(vocabulary))
        encoding = self._encode(block)
        self.ids: Ids = np.array(encoding.ids, np.int32)
        text = block.decode()
        starts = np.cumsum([0, *(len(character.encode()) for character in text)])
        self.offsets = starts[np.array(encoding.offsets, np.int64)]
        """The offsets of the block's tokens, in bytes."""
        self.tail: Ids = np.array(self._encode(tail).ids, np.int32)
        twice = self._encode(block + block + tail).ids
        assert twice == [*self.ids, *self.ids, *self.tail], "the reference does not cut between blocks"

    def _encode(self, text: bytes) -> tokenizers.Encoding:
        return self.reference.encode(text.decode(), add_special_tokens=False)

    def compare(self, parts: Iterable[npt.NDArray[np.integer]], times: int, tail: bool = True) -> int:
        """Check that the arrays `parts` together are the ids of `times` blocks and the tail. Returns the number of
        ids."""
        total = times * len(self.ids)
        several = np.tile(self.ids, 3)
        at = 0
        for part in parts:
            for start in range(0, len(part), len(self.ids)):
                ids = part[start : start + len(self.ids)]
                in_blocks = max(0, min(len(ids), total - at))
                place = at % len(self.ids)
                assert np.array_equal(ids[:in_blocks], several[place : place + in_blocks]), f"ids from {at} on differ"
                rest = ids[in_blocks:]
                begin = at + in_blocks - total
                assert np.array_equal(rest, self.tail[begin : begin + len(rest)]), f"ids of the tail from {at} on"
                at += len(ids)
        assert at == total + (len(self.tail) if tail else 0)
        return at


def write(path: Path, block: bytes, least: int, tail: bytes = TAIL) -> int:
    """Write a file of whole blocks, more than `least` bytes, and the tail. Returns the number of blocks."""
    times = least // len(block) + 1
    with open(path, "wb", buffering=0) as file:
        for _ in range(times):
            file.write(block)
        file.write(tail)
    return times


DISK = 6 << 30
"""The most bytes of disk that a test in this folder needs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("CRAYON_HUGE"):
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="takes minutes and gigabytes: make huge"))


def available() -> int:
    """Bytes of memory available to a new program."""
    return int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]) << 10


@pytest.fixture(autouse=True)
def _enough_memory(request: pytest.FixtureRequest) -> None:
    """``@pytest.mark.gigabytes(n)``: skip the test if less than n GiB of memory are available."""
    marker = request.node.get_closest_marker("gigabytes")
    if marker is not None and available() < marker.args[0] << 30:
        pytest.skip(f"needs {marker.args[0]} GiB of free memory, there are {available() / (1 << 30):.1f}")


@pytest.fixture(scope="session")
def block() -> bytes:
    """A text of a megabyte that every vocabulary in these tests cuts at both ends, so that it can be repeated."""
    return block_of(1 << 20)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A temporary directory on disk, in ``CRAYON_HUGE_DIR`` if that is set. It is removed after the test, unlike
    pytest's."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("CRAYON_HUGE_DIR")) as directory:
        free = os.statvfs(directory)
        if free.f_bavail * free.f_frsize < DISK:
            pytest.skip(f"needs {DISK >> 30} GiB of free disk in {directory}; CRAYON_HUGE_DIR names another place")
        yield Path(directory)


@pytest.fixture(scope="session")
def byte_level(gpt2_like: Path, block: bytes) -> Repeated:
    """A vocabulary with byte tables, and the reference's ids of the block."""
    return Repeated(gpt2_like, block)


@pytest.fixture(scope="session")
def text_tables(wordpiece_like: Path, block: bytes) -> Repeated:
    """A vocabulary with text tables, and the reference's ids of the block."""
    return Repeated(wordpiece_like, block)

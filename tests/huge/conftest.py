"""Fixtures for tests with texts of more than 4 GiB, which only ``make huge`` runs: each takes minutes, and up to 14 GiB
of memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.huge.repeated import Repeated, block_of

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

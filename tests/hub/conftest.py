"""A local Hub, and a client's home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.local_hub import LocalHub


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """An empty Hub. At the end, the test fails if it received unknown requests."""
    with LocalHub() as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A client's home."""
    return tmp_path / "home"

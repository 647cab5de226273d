"""Fixtures: a local Hub, and the home directory of its client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.local_hub import LocalHub


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """An empty local Hub. At the end, the test fails if the Hub received requests that it does not implement."""
    with LocalHub() as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home directory of a client's user."""
    return tmp_path / "home"

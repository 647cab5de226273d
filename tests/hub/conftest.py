"""A local Hub, and the home of a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.local_hub import LocalHub


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """A Hub that has nothing yet; afterwards nothing was asked of it that it does not know."""
    with LocalHub() as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a client."""
    return tmp_path / "home"

"""A local Hub, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess, Popen

import pytest

from tests.hub import hub_client
from tests.hub.local_hub import LocalHub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    """A Hub that has nothing yet; afterwards nothing was asked of it that it does not know."""
    with LocalHub(tmp_path / "hub") as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a client."""
    return tmp_path / "home"


@pytest.fixture
def run_client() -> Callable[..., CompletedProcess[str]]:
    """`run_client(hub, code or arguments, home)`: see hub_client."""
    return hub_client.run_client


@pytest.fixture
def start_client() -> Callable[..., Popen[str]]:
    """`start_client(hub, code or arguments, home)`: see hub_client."""
    return hub_client.start_client

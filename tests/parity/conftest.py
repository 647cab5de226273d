"""Fixtures for faulty tokenizers, in this process and in its children."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of tokenizers with known defects; child processes can import it, too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("parity_stand_in")

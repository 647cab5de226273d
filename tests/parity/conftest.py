"""The stand-ins, for this process and for those that it starts."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of tokenizers that are wrong in a known way; child processes can import it, too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("parity_stand_in")

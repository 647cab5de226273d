"""Fixtures: a text, and a module of faulty tokenizers that child processes can import, too."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from crayon_hf.formats import convert, write


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file with 200 lines in four documents."""
    path = tmp_path / "own.txt"
    path.write_text("Some plain words, caf\u00e9s and 42 more.\n" * 200, encoding="utf-8")
    return path


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of tokenizers with known defects; child processes can import it, too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("parity_stand_in")


@pytest.fixture
def repository(gpt2_like: Path, tmp_path: Path) -> Path:
    """A directory with a tokenizer.json and its cartridge."""
    write(convert(gpt2_like), tmp_path / "repository")
    return tmp_path / "repository"

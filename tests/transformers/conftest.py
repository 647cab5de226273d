"""Fixtures: small model repositories, one for each family of transformers' tokenizer classes, trained here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

import crayon_hf
from crayon_hf.cartridges import cache
from crayon_hf.transformers import loading, snapshots
from tests.support.repositories import FAMILIES, write_repositories


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory, training_text: list[str]) -> dict[str, Path]:
    """The directory of each family's repository, by the family's name."""
    return write_repositories(tmp_path_factory.mktemp("repositories"), training_text)


@pytest.fixture(params=FAMILIES)
def repository(request: pytest.FixtureRequest, repositories: dict[str, Path]) -> Path:
    """The directory of each family's repository in turn."""
    return repositories[request.param]


@pytest.fixture
def pair(repository: Path) -> tuple[Any, Any]:
    """The tokenizer of each repository, opened by transformers and by crayon_hf."""
    return (
        transformers.AutoTokenizer.from_pretrained(repository),
        crayon_hf.AutoTokenizer.from_pretrained(repository),
    )


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory of a fresh cache that trusts each file's times at once, as if the file had not changed for long."""
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that gets each tokenizer that is restored from a snapshot."""
    seen: list[Any] = []
    restore = snapshots.restore

    def spy(made_of: Any) -> Any:
        found = restore(made_of)
        if found is not None:
            seen.append(found)
        return found

    monkeypatch.setattr(loading.snapshots, "restore", spy)  # type: ignore[attr-defined]
    return seen

"""The fixture that watches which trainings our engine runs."""

from __future__ import annotations

from typing import Any

import pytest

from crayon_hf import _core


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets an item for each training by our engine."""
    calls: list[str] = []
    train = _core.train_bpe

    def spy(words: Any, **options: Any) -> Any:
        calls.append("bpe")
        return train(words, **options)

    monkeypatch.setattr(_core, "train_bpe", spy)
    return calls

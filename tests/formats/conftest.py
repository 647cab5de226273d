"""Fixtures for tests of vocabulary formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.reference_impl import ranked_tokens


@pytest.fixture(scope="session")
def ranks(gpt2_like: Path) -> dict[bytes, int]:
    """The tokens of a small vocabulary and their ranks."""
    return {token: rank for rank, token in enumerate(ranked_tokens(json.loads(gpt2_like.read_bytes())))}


@pytest.fixture(scope="module")
def sentences(training_text: list[str]) -> list[str]:
    return [line for text in training_text for line in text.split("\n") if line.strip()]

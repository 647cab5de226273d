"""Fixtures for tests of vocabulary formats."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def sentences(training_text: list[str]) -> list[str]:
    return [line for text in training_text for line in text.split("\n") if line.strip()]

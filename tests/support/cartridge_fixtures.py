"""Fixtures: cartridges for tests of the engine, and the tokenizer.json files that they are compiled from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cartridge_cases import compiled, longest_match, structure


@pytest.fixture(scope="session")
def every_case(gpt2_like: Path, vocabularies: Path) -> Path:
    return changed(gpt2_like, structure, vocabularies / "every_case.json")


@pytest.fixture(scope="session")
def longest_case(every_case: Path, vocabularies: Path) -> Path:
    return changed(every_case, longest_match, vocabularies / "longest_case.json")


def changed(source: Path, change: Callable[[dict[str, Any]], dict[str, Any]], path: Path) -> Path:
    document = change(json.loads(source.read_text(encoding="utf-8")))
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


MERGING = ("gpt2_like", "llama3_like", "qwen_like", "roberta_like", "every_case")


@pytest.fixture(scope="session", params=MERGING)
def merging(request: pytest.FixtureRequest) -> bytes:
    """The bytes of a tokenizer.json whose cartridge has byte tables and merges."""
    path: Path = request.getfixturevalue(request.param)
    return path.read_bytes()


@pytest.fixture(scope="session", params=[*MERGING, "longest_case"])
def source(request: pytest.FixtureRequest) -> bytes:
    """The bytes of a tokenizer.json whose cartridge has byte tables."""
    path: Path = request.getfixturevalue(request.param)
    return path.read_bytes()


@pytest.fixture(scope="session")
def small(every_case: Path) -> bytes:
    """A cartridge in which no section of the byte tables is empty."""
    return compiled(every_case.read_bytes())


@pytest.fixture(scope="session")
def longest(longest_case: Path) -> bytes:
    """A cartridge for longest match: without merges, but with the other sections of the fixture `small`."""
    return compiled(longest_case.read_bytes())

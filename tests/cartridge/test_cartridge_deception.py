"""Forged cartridges: every checksum is right, and the contents are wrong (cartridge_lies.py)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import cartridge_text_lies
from tests.support.cartridge_cases import TEXTS, compiled, judged
from tests.support.cartridge_lies import container_cases, content_cases, longest_match_cases
from tests.support.cartridge_text import NAMES
from tests.support.sampling import sampled


def test_signed_containers(small: bytes, tmp_path: Path) -> None:
    assert_named(container_cases(small), "open", tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_signed_containers_of_text(name: str, tmp_path: Path) -> None:
    assert_named(cartridge_text_lies.opening_cases(name), "open", tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_signed_contents_of_text(name: str, tmp_path: Path) -> None:
    assert_named(cartridge_text_lies.content_cases(name), "verify", tmp_path)


@pytest.mark.slow
def test_signed_contents(small: bytes, llama3_like: Path, tmp_path: Path) -> None:
    cases = content_cases(small, compiled(unmergeable(llama3_like)))
    assert len(cases) > 120
    assert_named(cases, "verify", tmp_path)


def test_signed_contents_of_longest_match(small: bytes, longest: bytes, tmp_path: Path) -> None:
    assert_named(longest_match_cases(small, longest), "verify", tmp_path)


def unmergeable(path: Path) -> bytes:
    """The tokenizer.json at `path` with one more token, which merges never make and only `ignore_merges` gives."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["vocab"]["theq"] = max(token["id"] for token in document["added_tokens"]) + 1
    document["added_tokens"] = []
    document["post_processor"] = None
    return json.dumps(document).encode()


def assert_named(cases: dict[str, tuple[bytes, str]], way: str, directory: Path) -> None:
    """Check that every forged cartridge is refused with a CartridgeError that has the expected words. Forgeries that
    only full verification finds must be safe to use without it."""
    files: dict[str, tuple[Any, ...]] = {}
    for number, (name, (data, _)) in enumerate(cases.items()):
        path = directory / f"{number}.dat"
        path.write_bytes(data)
        files[name] = (way, str(path))
        files[f"{name}, memory"] = ("memory", str(path), TEXTS[:4])
    verdicts = judged(files)
    wrong = {
        name: verdicts[name]
        for name, (_, expected) in cases.items()
        if not verdicts[name].startswith("CartridgeError: ") or not re.search(expected, verdicts[name])
    }
    usable = ("CartridgeError: ", "VocabularyError: ", "accepted ")
    wrong |= {
        name: verdict for name, verdict in verdicts.items() if name not in cases and not verdict.startswith(usable)
    }
    assert not wrong, "\n".join(f"{k}: {v}" for k, v in wrong.items())

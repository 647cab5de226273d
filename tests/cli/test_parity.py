"""``crayon-hf parity`` in a shell."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.shell import failure, good
from tests.support.command import call


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("Some plain words, cafés and 42 more.\n" * 20, encoding="utf-8")
    return path


def test_parity(gpt2_like: Path, text: Path) -> None:
    out = good(call("parity", gpt2_like, "--text", text, "--strings", "50", "--no-speed"))
    assert out.splitlines()[-1].startswith(f"all agree with tokenizers {version('tokenizers')}: ")
    assert "no text" in failure(call("parity", gpt2_like, "--text", text.with_name("none.txt")), 2)


def test_parity_greedy(gpt2_like: Path, text: Path, tmp_path: Path) -> None:
    words = ("parity", "--greedy", gpt2_like, "--text")
    (found,) = json.loads(good(call(*words, text, "--rounds", "2", "--json", "-")))["texts"]
    assert (found["text"], found["lines"], found["bytes"]) == ("text", 20, text.stat().st_size)
    assert {name: len(rates) for name, rates in found["speeds"].items()} == {"greedy": 2, "exact": 2, "tokenizers": 2}
    table = good(call(*words, text, "--rounds", "0"))
    assert "| text | lines equal | tokens equal | tokens, greedy / exact |" in table
    assert "expected one of tokenizers, llama.cpp" in failure(call(*words, text, "--beside", "x"))
    (tmp_path / "empty.txt").write_bytes(b"")
    assert "empty.txt is empty" in failure(call(*words, tmp_path / "empty.txt"))
    assert "cannot be combined" in failure(call("parity", "--greedy", "--html", "x"), 2)

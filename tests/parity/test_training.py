"""The suite that compares our training with other trainers: differences are found, and random choices do not count as
differences."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import _core
from crayon_hf.parity.compare.records import Outcome
from parity.training import __main__ as command
from parity.training.cases import Case, pre_tokenizers, random_case
from parity.training.compare import check, difference, train_with

SPLIT = pre_tokenizers()["WhitespaceSplit"]
CASE = Case("some", SPLIT, None, ("ab ab abc bca bca",) * 3, {"vocab_size": 20})


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng = random.Random(7)
    words = ["".join(rng.choices("etaoin shrdlu", k=rng.randint(2, 9))) for _ in range(300)]
    path = tmp_path / "some.txt"
    path.write_text("\n".join(" ".join(rng.choices(words, k=12)) for _ in range(400)), encoding="utf-8")
    return path


@pytest.mark.parametrize("number", range(30))
def test_ours_trains_as_the_reference(number: int) -> None:
    for finding in check(random_case(number, seed=2), command.ours_or("")):
        assert not finding.what, "\n".join(finding.lines())


def test_differences_are_found() -> None:
    right = train_with(tokenizers.Tokenizer, CASE)
    assert isinstance(right, str)
    document = json.loads(right)
    model, vocab = document["model"], document["model"]["vocab"]
    changes: tuple[dict[str, Any], ...] = (
        *({"merges": merges} for merges in ([["c", "a"], *model["merges"][1:]], model["merges"][:-1])),
        *({"vocab": vocab | more} for more in ({"a": 1, "b": 0}, {"more": 99})),
        {"dropout": 0.5},
    )
    for change in changes:
        assert difference(right, json.dumps(document | {"model": model | change})), change
    error = Outcome.of_error(ValueError("no"))
    assert difference(right, error)
    assert difference(error, right)
    assert difference(right, right) == difference(error, error) == ""


def test_counts_that_the_reference_has_no_room_for() -> None:
    """A known difference: the reference counts pairs in 32 bits, so counts of the most frequent pairs overflow, and the
    pairs seem rare."""
    letters = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    engine = _core.compile_tokenizer_json(json.dumps({**CASE.document(), "model": letters}).encode(), "{}")
    counter = _core.WordCounter(_core.Engine.from_bytes(engine))
    words = {"ab": 2**31 + 5, "cd": 7, "ef": 2**40 + 1, "abab": 3}
    counter.add_words(words)
    tokens, _ = _core.train_bpe(counter, vocab_size=20)
    assert tokens[6:9] == ["ef", "ab", "cd"]


def test_the_command(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--text", f"two={text},{text}", "--megabytes", "0.02", "--vocab-size", "400"]
    assert command.main([*options, "--random", "3"]) == 0
    out = capsys.readouterr().out
    assert "two, 0.0 MB, vocabulary 400: tokenizer.json equal" in out
    assert "3 random corpora" in out
    assert command.main(["--no-texts", "--random", "0"]) == 0
    assert command.main(["--text", "no-such-text"]) == 2
    assert "no-such-text" in capsys.readouterr().err

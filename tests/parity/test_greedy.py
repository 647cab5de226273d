"""Longest match beside merging: the count of lines and tokens that agree, and ``crayon-hf parity --greedy``."""

from __future__ import annotations

import json
from pathlib import Path

import tokenizers

from crayon_hf import Tokenizer
from crayon_hf.parity import greedy
from tests.cli.shell import failure, good
from tests.support.command import call


def test_counted_by_hand() -> None:
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(level.alphabet())
    # Merging makes a + bc, since "b c" comes first; longest match takes "ab".
    vocab = {token: id for id, token in enumerate([*alphabet, "bc", "ab"])}
    model = tokenizers.models.BPE(vocab=vocab, merges=[("b", "c"), ("a", "b")])
    stock = tokenizers.Tokenizer(model)
    stock.pre_tokenizer, stock.decoder = level, tokenizers.decoders.ByteLevel()
    exact, other = (Tokenizer.from_str(stock.to_str(), mode=mode) for mode in ("exact", "greedy"))
    found = greedy.agreement(exact, other, "abc\nab ab\n\nabcd\nx", "small")
    assert (found.lines, found.lines_equal) == (4, 2)  # empty lines do not count
    assert found.exact_tokens == 2 + 3 + 3 + 1  # a bc | ab Ġ ab | a bc d | x
    assert found.greedy_tokens == 2 + 3 + 3 + 1  # ab c | ab Ġ ab | ab c d | x
    assert found.tokens_equal == 0 + 3 + 1 + 1
    assert found.to_json()["lines_equal_share"] == 0.5
    assert found.to_json()["tokens_equal_share"] == 5 / 9


def test_the_command(gpt2_like: Path, text: Path, tmp_path: Path) -> None:
    words = ("parity", "--greedy", gpt2_like, "--text")
    (found,) = json.loads(good(call(*words, text, "--rounds", "2", "--json", "-")))["texts"]
    assert (found["text"], found["lines"], found["bytes"]) == ("own", 200, text.stat().st_size)
    assert {name: len(rates) for name, rates in found["speeds"].items()} == {"greedy": 2, "exact": 2, "tokenizers": 2}
    table = good(call(*words, text, "--rounds", "0"))
    assert "| text | lines equal | tokens equal | tokens, greedy / exact |" in table
    assert "expected one of tokenizers, llama.cpp" in failure(call(*words, text, "--beside", "x"))
    (tmp_path / "empty.txt").write_bytes(b"")
    assert "empty.txt is empty" in failure(call(*words, tmp_path / "empty.txt"))
    assert "cannot be combined" in failure(call("parity", "--greedy", "--html", "x"), 2)

"""Agreement of longest match with merging: counted by hand, then on text."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import MissingExtraError, Tokenizer
from crayon_hf.parity import greedy


@pytest.fixture
def both(gpt2_like: Path) -> tuple[Tokenizer, Tokenizer]:
    return Tokenizer.from_file(gpt2_like), Tokenizer.from_file(gpt2_like, mode="greedy")


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
    assert (found.lines, found.lines_equal) == (4, 2)  # an empty line is none
    assert found.exact_tokens == 2 + 3 + 3 + 1  # a bc | ab Ġ ab | a bc d | x
    assert found.greedy_tokens == 2 + 3 + 3 + 1  # ab c | ab Ġ ab | ab c d | x
    assert found.tokens_equal == 0 + 3 + 1 + 1
    assert found.to_json()["lines_equal_share"] == 0.5
    assert found.to_json()["tokens_equal_share"] == 5 / 9


def test_shares_of_nothing(both: tuple[Tokenizer, Tokenizer]) -> None:
    found = greedy.agreement(*both, "\n\n")
    assert (found.lines, found.exact_tokens, found.lines_equal_share, found.tokens_equal_share) == (0, 0, 1.0, 1.0)
    assert "| 100.0% of 0 | 100.0% of 0 |" in greedy.table([found])


def test_a_tokenizer_agrees_with_itself(both: tuple[Tokenizer, Tokenizer]) -> None:
    text = "Some plain words, cafés and 42 more.\n" * 3
    found = greedy.agreement(both[0], both[0], text)
    assert found.lines == found.lines_equal == 3
    assert found.tokens_equal == found.exact_tokens == found.greedy_tokens > 0
    assert found.bytes == len(text.encode())


def test_speeds_are_of_every_round(both: tuple[Tokenizer, Tokenizer]) -> None:
    seen: dict[str, list[str]] = {"one": [], "two": []}
    text = "".join(f"line {number}\n" for number in range(2000))
    speeds = greedy.measure({name: seen[name].extend for name in seen}, text, 3)
    assert {name: len(rates) for name, rates in speeds.items()} == {"one": 3, "two": 3}
    for texts in seen.values():  # every document once, after a first word
        assert sorted("".join(texts[1:])) == sorted(text)
        assert len(set(texts)) == len(texts)
    result = greedy.Agreement("x", 1, 1, 1, 1, 1, 1, {"greedy": [30.0, 10.0, 20.0], "exact": [5.0, 4.0, 100.0]})
    assert greedy.table([result]).splitlines()[-1].endswith("| 1.0000 | 20.0 | 5.0 (4.0) |")


def test_the_reference_is_the_same_vocabulary(both: tuple[Tokenizer, Tokenizer]) -> None:
    texts = ["Some plain words", "and 42 more"]
    encodings: list[Any] = greedy.reference(both[0])(texts)
    assert [encoding.ids for encoding in encodings] == [both[0].encode(text).ids for text in texts]


@pytest.mark.skipif(find_spec("llama_cpp") is not None, reason="llama-cpp-python is installed")
def test_llama_cpp_is_an_extra() -> None:
    with pytest.raises(MissingExtraError, match="not installed: python -m pip install llama-cpp-python"):
        greedy.llama_cpp("model.gguf")


def test_a_text_of_fewer_documents_than_rounds(both: tuple[Tokenizer, Tokenizer]) -> None:
    speeds = greedy.measure({"exact": greedy.ours(both[0])}, "few words", 5)
    assert len(speeds["exact"]) == 5
    assert all(speed > 0 for speed in speeds["exact"])  # their quotients are taken
    with pytest.raises(ValueError, match="the text is empty"):
        greedy.measure({"exact": greedy.ours(both[0])}, "", 5)

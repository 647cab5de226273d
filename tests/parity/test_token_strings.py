"""Strings of a vocabulary's own tokens: all of them, in a fixed order, whole and broken."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from crayon_hf.parity.compare.references import find
from crayon_hf.parity.inputs.token_strings import CATEGORIES, generate_of_tokens


@pytest.mark.parametrize("count", [1, 2, 97, 600, 7919])
def test_every_token_is_met(count: int) -> None:
    tokens = [b"%d." % i for i in range(count)]
    strings = generate_of_tokens(tokens, count * len(CATEGORIES))
    assert {text for category, text in strings if category == "token"} == {token.decode() for token in tokens}


def test_one_seed_gives_one_sequence() -> None:
    tokens = [b"a", b"bc", b" d", b"\xc3", b"\xa9"]
    assert list(generate_of_tokens(tokens, 300, 1)) == list(generate_of_tokens(tokens, 300, 1))
    assert list(generate_of_tokens(tokens, 300, 1)) != list(generate_of_tokens(tokens, 300, 2))
    assert any("\u00e9" in text for _, text in generate_of_tokens(tokens, 300))


def test_no_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="no tokens"):
        list(generate_of_tokens([], 1))


def test_the_tokens_of_a_byte_level_vocabulary_are_bytes(gpt2_like: Path) -> None:
    vocabulary = find(str(gpt2_like))
    tokens = vocabulary.token_bytes()
    assert {bytes([byte]) for byte in range(256)} <= set(tokens)
    assert b" the" in tokens
    reference = vocabulary.open_reference()
    assert reference.decode(reference.encode(" the").ids) == " the"
    assert len(tokens) == reference.get_vocab_size()


def test_the_tokens_of_another_vocabulary_are_its_text(wordpiece_like: Path) -> None:
    tokens = find(str(wordpiece_like)).token_bytes()
    assert b"the" in tokens
    assert not any(token.startswith(b"##") and len(token) > 2 for token in tokens)


def test_the_tokens_of_a_rank_file_are_in_order(tmp_path: Path) -> None:
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in ((1, b"b"), (0, b"\xff"))))
    assert find(str(path), pattern=".").token_bytes() == [b"\xff", b"b"]

"""Strings of a vocabulary's own tokens: all of them, in a fixed order, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.inputs.token_strings import CATEGORIES, generate_of_tokens


@pytest.mark.parametrize("count", [1, 2, 97, 600, 7919])
def test_every_token_is_met(count: int) -> None:
    tokens = [b"%d." % i for i in range(count)]
    strings = generate_of_tokens(tokens, count * len(CATEGORIES))
    assert {text for category, text in strings if category == "token"} == {token.decode() for token in tokens}


def test_the_tokens_of_a_byte_level_vocabulary_are_bytes(gpt2_like: Path) -> None:
    vocabulary = Vocabulary("gpt2", "tokenizers", gpt2_like)
    tokens = vocabulary.token_bytes()
    assert {bytes([byte]) for byte in range(256)} <= set(tokens)
    assert b" the" in tokens
    reference = vocabulary.open_reference()
    assert reference.decode(reference.encode(" the").ids) == " the"
    assert len(tokens) == reference.get_vocab_size()

"""Scores as they are, though the library reads one in four of the usual spellings as a neighbour."""

from __future__ import annotations

import json
import math

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from crayon_hf import Tokenizer, _core
from crayon_hf.state import tokenizer_json

ANY = st.floats(-30, -0.001) | st.integers(-30, 0).map(float)


def has_small_significand(score: float) -> bool:
    return 2 * abs(math.frexp(score)[0]) <= 1.8


SCORES = ANY.filter(has_small_significand)
ODD = [-2.0122928619384766, -12.130167007446289, -3.9598512649536133, 0.0, -0.1, -17.000000000000004]


def read(text: str) -> float:
    """As the library reads it, and as Python does: they must not differ."""
    (ours,) = json.loads(_core.json_normalize(f"[{text}]".encode()))
    assert ours == float(text)
    return float(ours)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(SCORES)
def test_a_spelling_that_every_reader_takes_alike(score: float) -> None:
    assert read(tokenizer_json.spell(score)) == score


@settings(max_examples=1000, deadline=None)
@given(ANY)
def test_never_further_than_a_neighbour(score: float) -> None:
    (ours,) = json.loads(_core.json_normalize(f"[{tokenizer_json.spell(score)}]".encode()))
    assert ours in (score, math.nextafter(score, 0), math.nextafter(score, -math.inf))


def test_odd_scores() -> None:
    for score in ODD:
        assert read(tokenizer_json.spell(score)) == score
    assert any(tokenizer_json.spell(score) != repr(score) for score in ODD)


@settings(max_examples=100, deadline=None)
@given(st.lists(SCORES, min_size=4, max_size=12))
def test_a_living_unigram_model_keeps_its_scores(scores: list[float]) -> None:
    vocab = [("<unk>", 0.0), *((chr(0x61 + i // 3) * (i % 3 + 1), score) for i, score in enumerate(scores))]
    reference = tokenizers.Tokenizer(models.Unigram(vocab, 0, False))
    ours = Tokenizer.from_tokenizers(reference)
    assert ours.to_str() == reference.to_str()
    assert ours.to_str(True) == reference.to_str(True)
    for text in ("aaaaaaaaaa", "bbbaaaccca", "abcabcaabbcc"):
        assert ours.encode(text).ids == reference.encode(text).ids
    opened = tokenizers.Tokenizer.from_str(reference.to_str())
    assert Tokenizer.from_str(reference.to_str()).to_str() == opened.to_str()

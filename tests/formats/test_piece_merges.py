"""`merges_of` turns the pieces of a SentencePiece model into merges. With them stock tokenizers joins characters as a
plain twin of SentencePiece's rule does."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from crayon_hf import UnsupportedError
from crayon_hf.formats.piece_merges import merges_of


def joined(text: str, scores: dict[str, float]) -> list[str]:
    """SentencePiece's rule: of all neighbours that make a piece, join the pair whose piece has the best score, the
    leftmost first."""
    symbols = list(text)
    while True:
        ways = [(-scores[a + b], at) for at, (a, b) in enumerate(pairwise(symbols)) if a + b in scores]
        if not ways:
            return symbols
        at = min(ways)[1]
        symbols[at : at + 2] = ["".join(symbols[at : at + 2])]


def ranked(text: str, scores: dict[str, float]) -> list[str]:
    """The tokens of a text in a BPE model of stock tokenizers with the merges of `merges_of`."""
    model = models.BPE({piece: id for id, piece in enumerate(scores)}, merges_of(scores, ()))
    return [token.value for token in model.tokenize(text)]


@pytest.mark.parametrize("lengths", [(2, 3, 4, 5, 6, 7, 8), (2, 4, 8), (2, 3, 5, 8), (2, 4, 5, 6, 8, 12, 16)])
def test_runs_of_one_score_grow_from_the_left(lengths):
    scores = {"a": -9.0, "x": -9.0, "xa": -1.0, "ax": -1.5} | {"a" * length: -5.0 for length in lengths}
    for before, count, after in product(("", "x"), range(40), ("", "x")):
        text = before + "a" * count + after
        assert ranked(text, scores) == joined(text, scores), text


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.text("abc", min_size=2, max_size=5), st.integers(-3, 0).map(float), max_size=8),
    st.lists(st.text("abc", max_size=20), min_size=5, max_size=5),
)
def test_scores_that_repeat_are_right_or_refused(pieces, texts):
    scores = dict.fromkeys("abc", -100.0) | pieces
    try:
        merges_of(scores, ())
    except UnsupportedError:
        return
    for text in texts:
        assert ranked(text, scores) == joined(text, scores)


def test_zeros_of_both_signs_are_two_scores():
    scores = {"a": -9.0, "b": -9.0, "ab": -0.0, "ba": 0.0}
    assert merges_of(scores, ()) == [("b", "a"), ("a", "b")]
    assert merges_of(scores | {"ab": 0.0, "ba": -0.0}, ()) == [("a", "b"), ("b", "a")]


LETTERS = dict.fromkeys("abcd", -9.0)


@pytest.mark.parametrize(
    ("scores", "unused", "names"),
    [
        (LETTERS | {"ab": -1.0, "bc": -1.0, "bcd": -1.0}, (), "'bcd'"),  # a pair of one score that comes up late
        (LETTERS | {"ab": -1.0, "ba": -1.0}, (), "'ba' and 'ab'"),  # in a circle
        ({"a": -1.0, "ab": -2.0}, (), "'b'"),
        (LETTERS | {"ab": -2.0}, {"ab"}, "unused piece 'ab'"),
    ],
)
def test_what_no_merges_can_say(scores, unused, names):
    with pytest.raises(UnsupportedError, match=names):
        merges_of(scores, unused)


def test_pieces_that_are_not_joined():
    assert merges_of({"a": -1.0, "abc": -2.0, "aaa": -2.0}, {"aaa"}) == []

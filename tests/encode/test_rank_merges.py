"""`merges_from_ranks` turns tiktoken's ranks into merges. The twin merges the bytes of each token by the ranks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import VocabularyError

BYTES = [bytes([b]) for b in range(256)]


def bpe(text: bytes, ranks: dict[bytes, int], stop_at: int = 1) -> list[bytes]:
    """tiktoken's rule: join the leftmost neighbours of lowest rank, until no neighbours have a rank."""
    parts = [text[i : i + 1] for i in range(len(text))]
    while len(parts) > stop_at:
        joined = [ranks.get(a + b, len(ranks)) for a, b in pairwise(parts)]
        lowest = min(joined)
        if lowest == len(ranks):
            break
        at = joined.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def twin(tokens: list[bytes], some: list[int]) -> list[tuple[int, int, int]]:
    """The merges (left, right, product) that make the tokens whose ranks are in `some`, by the definition."""
    ranks = {token: rank for rank, token in enumerate(tokens)}
    merges = []
    for rank in some:
        if len(tokens[rank]) < 2 or len(bpe(tokens[rank], ranks)) > 1:
            continue
        left, right = bpe(tokens[rank], ranks, stop_at=2)
        merges.append((ranks[left], ranks[right], rank))
    return merges


@st.composite
def rank_sets(draw: st.DrawFn, alphabet: bytes = b"ab", longest: int = 7) -> list[bytes]:
    """Short tokens of few letters in any order, so that most contain others, of higher and of lower rank."""
    letters = st.sampled_from([bytes([b]) for b in alphabet])
    longer = st.lists(letters, min_size=2, max_size=longest).map(b"".join)
    tokens = draw(st.lists(longer, unique=True, max_size=25)) + BYTES
    if draw(st.booleans()):  # single bytes need not come first
        tokens = draw(st.permutations(tokens))
    return tokens


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(rank_sets() | rank_sets(b"abc\xff\x00") | rank_sets(longest=40))  # tokens over 24 bytes are merged with a heap
def test_equals_the_definition(tokens: list[bytes]) -> None:
    assert _core.merges_from_ranks(tokens) == twin(tokens, list(range(len(tokens))))


def test_long_tokens_do_not_take_quadratic_time() -> None:
    """Tokens are runs of one letter of 2, 4, 8 bytes and so on, up to a megabyte. Quadratic merging would take
    hours."""
    tokens = [*BYTES, *(b"a" * 2**k for k in range(1, 21))]
    assert _core.merges_from_ranks(tokens) == [
        (97 if i == 256 else i - 1, 97 if i == 256 else i - 1, i) for i in range(256, 276)
    ]


def test_tokens_whose_hashes_are_equal() -> None:
    """The Thue-Morse word and its complement have equal polynomial hashes modulo 2**64, whatever the multiplier."""
    word, complement = b"a", b"b"
    for _ in range(12):
        word, complement = word + complement, complement + word
    assert _core.merges_from_ranks([*BYTES, word, complement]) == []


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "no token is the single byte 0$"),
        (BYTES[:-1], "no token is the single byte 255$"),
        ([b for b in BYTES if b != b"a"] + [b"aa"], "no token is the single byte 97$"),
        ([*BYTES, b""], "the token of rank 256 is empty"),
        ([*BYTES, b"ab", b"cd", b"ab"], "the tokens of ranks 256 and 258 are the same bytes"),
        ([*BYTES, b"a"], "the tokens of ranks 97 and 256 are the same bytes"),
    ],
)
def test_refused(tokens: list[bytes], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        _core.merges_from_ranks(tokens)

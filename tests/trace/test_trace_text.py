"""Traces of models on text: BPE with all that it can have, Unigram and WordPiece."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings

from crayon_hf import _core
from crayon_hf.errors import CrayonError, VocabularyError
from tests.components import test_models as of_models
from tests.support import reference_impl
from tests.support.traces import greedy_ids, ids_of, replay


def text_engine(model: dict[str, Any]) -> _core.Engine | None:
    """An engine with this model and nothing around it; None for a model that is not native, or none at all."""
    document = {"version": "1.0", "added_tokens": [], "model": model}
    try:
        return reference_impl.open_engine(document)
    except CrayonError:
        return None


def check_piece(engine: _core.Engine, piece: str) -> dict[str, Any] | None:
    """The trace of a piece has the engine's tokens, or both fail."""
    try:
        want = engine.encode_ids(piece, False)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            engine.trace_piece(piece.encode())
        return None
    trace = engine.trace_piece(piece.encode())
    if not trace["is_random"]:
        assert ids_of(trace["tokens"]) == want
    return trace


@settings(max_examples=120, deadline=None)
@given(of_models.bpe_models(), of_models.PIECES)
def test_any_bpe(model: dict[str, Any], pieces: list[str]) -> None:
    """The twin: of all neighbours that can merge those of lowest rank, the leftmost, until there are none."""
    engine = text_engine(model)
    assume(engine is not None)
    assert engine is not None
    vocab, cut = model["vocab"], len(model["continuing_subword_prefix"] or "")
    ranks = {(vocab[a], vocab[b]): (rank, vocab[a + b[cut:]]) for rank, (a, b) in enumerate(model["merges"])}
    for piece in pieces:
        if (trace := check_piece(engine, piece)) is None:
            continue
        ids, applied = ids_of(trace["symbols"]), []
        while candidates := [(ranks[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in ranks]:
            (rank, product), at = min(candidates)
            ids[at : at + 2] = [product]
            applied.append((rank, at, product))
        assert [(merge["rank"], merge["position"], merge["product"]) for merge in trace["merges"]] == applied
        assert [token for token, _, _ in replay(trace)] == ids
        check_greedy(engine, piece)


@settings(max_examples=120, deadline=None)
@given(of_models.other_models(), of_models.PIECES)
def test_any_other(model: dict[str, Any], pieces: list[str]) -> None:
    engine = text_engine(model)
    assume(engine is not None)
    assert engine is not None
    assert _core._testing.model_type(engine) == model["type"]
    for piece in pieces:
        if (trace := check_piece(engine, piece)) is None:
            continue
        if model["type"] == "Unigram":
            check_path(trace, len(piece.encode()))
        check_greedy(engine, piece)


def check_greedy(engine: _core.Engine, piece: str) -> None:
    try:
        want = engine.greedy().encode_ids(piece, False)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            engine.trace_longest_match(piece.encode())
        return
    assert greedy_ids(engine, engine.trace_segments(piece)) == want


def check_path(trace: dict[str, Any], size: int) -> None:
    """A path from one end of the piece to the other, whose scores add up."""
    path = trace["path"]
    assert [step["start"] for step in path] == [0, *(step["end"] for step in path[:-1])]
    assert path[-1]["end"] == size
    total = 0.0
    for step in path:
        total = step["score"] + total
    assert trace["score"] == total


def test_the_best_path() -> None:
    """Of all ways to cut the piece the one with the largest sum, an unknown character for ten less than the least."""
    scores = {"<unk>": 0.0, "a": -2.0, "b": -2.5, "ab": -3.0, "abc": -9.0, "bc": -4.0, "ca": -1.0}
    vocab = [[token, score] for token, score in scores.items()]
    engine = text_engine({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False})
    assert engine is not None

    def best(piece: str) -> float:
        if not piece:
            return 0.0
        ways = [scores[piece[:n]] + best(piece[n:]) for n in range(1, len(piece) + 1) if piece[:n] in scores]
        unknown = [] if piece[:1] in scores else [min(scores.values()) - 10 + best(piece[1:])]
        return max(ways + unknown)

    for piece in ("abcab", "abc", "c", "cc", "bca", "xabcax"):
        trace = check_piece(engine, piece)
        assert trace is not None
        assert trace["score"] == pytest.approx(best(piece))
    trace = engine.trace_piece(b"xxab")
    assert [(step["start"], step["end"], step["kind"]) for step in trace["path"]] == [
        (0, 1, "unknown"),
        (1, 2, "unknown"),
        (2, 4, "token"),
    ]
    assert [(token["id"], token["start"], token["end"]) for token in trace["tokens"]] == [(0, 0, 2), (3, 2, 4)]


def test_ties_go_to_the_token_that_began_first() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["ab", -2.0], ["ba", -2.0]]
    engine = text_engine({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False})
    assert engine is not None
    for piece in ("ab", "ba", "abab", "bab"):
        assert check_piece(engine, piece) is not None
    assert ids_of(engine.trace_piece(b"ab")["tokens"]) == [3]


def test_word_piece_walks() -> None:
    vocab = {token: i for i, token in enumerate(["[UNK]", "un", "u", "##aff", "##a", "##able"])}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
    engine = text_engine(model | {"max_input_chars_per_word": 10})
    assert engine is not None
    first, second, third = engine.trace_piece(b"unaffable")["walks"]
    assert [(chr(step["byte"]), step["id"]) for step in first["steps"]] == [("u", 2), ("n", 1), ("a", None)]
    assert first["steps"][-1]["node"] is None
    assert (second["start"], second["end"], second["prefix"], ids_of(second["tokens"])) == (2, 5, 2, [3])
    assert "".join(chr(step["byte"]) for step in third["steps"]) == "##able"
    # What was found counts for nothing when the rest has no token.
    *walks, last = engine.trace_piece(b"unaffx")["walks"]
    assert [walk["tokens"] for walk in walks] == [[], [], []]
    assert last["steps"] == []
    assert last["tokens"] == [{"id": 0, "start": 0, "end": 6, "kind": "unknown"}]
    (only,) = engine.trace_piece(b"ununununununu")["walks"]  # too long to be tried
    assert (only["steps"], ids_of(only["tokens"])) == ([], [0])

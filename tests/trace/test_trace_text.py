"""Traces of models on text: BPE with all its options, Unigram and WordPiece."""

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
    """The engine of a document with only this model; None if the engine refuses it."""
    document = {"version": "1.0", "added_tokens": [], "model": model}
    try:
        return reference_impl.open_engine(document)
    except CrayonError:
        return None


def check_piece(engine: _core.Engine, piece: str) -> dict[str, Any] | None:
    """Check that the trace of a piece ends in the engine's ids, or that tracing and encoding both fail."""
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
    """Merges in traces are those of the plain rule: join the leftmost neighbours of lowest rank, until none can
    merge."""
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
            path = trace["path"]
            assert [step["start"] for step in path] == [0, *(step["end"] for step in path[:-1])]
            assert path[-1]["end"] == len(piece.encode())
            assert trace["score"] == pytest.approx(sum(step["score"] for step in path))
        check_greedy(engine, piece)


def check_greedy(engine: _core.Engine, piece: str) -> None:
    try:
        want = engine.greedy().encode_ids(piece, False)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            engine.trace_longest_match(piece.encode())
        return
    assert greedy_ids(engine, engine.trace_parts(piece)) == want


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
    # Earlier tokens are discarded if the rest has no token.
    *walks, last = engine.trace_piece(b"unaffx")["walks"]
    assert [walk["tokens"] for walk in walks] == [[], [], []]
    assert last["steps"] == []
    assert last["tokens"] == [{"id": 0, "start": 0, "end": 6, "kind": "unknown"}]
    (only,) = engine.trace_piece(b"ununununununu")["walks"]  # too long for a walk
    assert (only["steps"], ids_of(only["tokens"])) == ([], [0])

"""Helpers for tests of traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crayon_hf import _core


def pieces_of(segments: Sequence[dict[str, Any]]) -> Iterator[int | bytes]:
    """Yield the ids of added tokens and the pieces between these tokens, in order."""
    for segment in segments:
        if segment["added"] is not None:
            yield segment["added"]
        for piece in segment["pieces"]:
            yield segment["text"][piece["start"] : piece["end"]]


def ids_of(tokens: Sequence[dict[str, Any]]) -> list[int]:
    return [token["id"] for token in tokens]


def traced_ids(engine: _core.Engine, segments: Sequence[dict[str, Any]]) -> list[int]:
    out: list[int] = []
    for piece in pieces_of(segments):
        out += [piece] if isinstance(piece, int) else ids_of(engine.trace_piece(piece)["tokens"])
    return out


def greedy_ids(engine: _core.Engine, segments: Sequence[dict[str, Any]]) -> list[int]:
    out: list[int] = []
    for segment in segments:
        out += [] if segment["added"] is None else [segment["added"]]
        for start, end in segment["runs"]:
            for walk in engine.trace_longest_match(segment["text"][start:end]):
                out += ids_of(walk["tokens"])
    return out


def check(engine: _core.Engine, text: str, special_as_text: bool = False) -> None:
    """Check that both traces of a text end in the engine's tokens."""
    segments = engine.trace_segments(text, special_as_text)
    assert traced_ids(engine, segments) == engine.encode_ids(text, False, special_as_text)
    assert greedy_ids(engine, segments) == engine.greedy().encode_ids(text, False, special_as_text)


def replay(trace: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Apply the merges to the symbols in order, and return the tokens."""
    symbols = [(symbol["id"], symbol["start"], symbol["end"]) for symbol in trace["symbols"]]
    for merge in trace["merges"]:
        at = merge["position"]
        left, right = symbols[at], symbols[at + 1]
        assert (left[0], right[0]) == (merge["left"], merge["right"])
        symbols[at : at + 2] = [(merge["product"], left[1], right[2])]
    return symbols

"""Helpers for tests of traces, the engine's records of the steps by which a text becomes tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crayon_hf import _core


def pieces_of(parts: Sequence[dict[str, Any]]) -> Iterator[int | bytes]:
    """Yield, in order, the id of each added token in a text and the bytes of each piece between added tokens."""
    for part in parts:
        if part["added"] is not None:
            yield part["added"]
        for piece in part["pieces"]:
            yield part["text"][piece["start"] : piece["end"]]


def ids_of(tokens: Sequence[dict[str, Any]]) -> list[int]:
    return [token["id"] for token in tokens]


def traced_ids(engine: _core.Engine, parts: Sequence[dict[str, Any]]) -> list[int]:
    out: list[int] = []
    for piece in pieces_of(parts):
        out += [piece] if isinstance(piece, int) else ids_of(engine.trace_piece(piece)["tokens"])
    return out


def greedy_ids(engine: _core.Engine, parts: Sequence[dict[str, Any]]) -> list[int]:
    out: list[int] = []
    for part in parts:
        out += [] if part["added"] is None else [part["added"]]
        for start, end in part["runs"]:
            for walk in engine.trace_longest_match(part["text"][start:end]):
                out += ids_of(walk["tokens"])
    return out


def check(engine: _core.Engine, text: str, special_as_text: bool = False) -> None:
    """Check that the traces of merging and of greedy mode end in the ids that the engine returns for `text`."""
    parts = engine.trace_parts(text, special_as_text)
    assert traced_ids(engine, parts) == engine.encode_ids(text, False, special_as_text)
    assert greedy_ids(engine, parts) == engine.greedy().encode_ids(text, False, special_as_text)


def replay(trace: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Apply a trace's merges to its symbols in order, and return the tokens as (id, start, end)."""
    symbols = [(symbol["id"], symbol["start"], symbol["end"]) for symbol in trace["symbols"]]
    for merge in trace["merges"]:
        at = merge["position"]
        left, right = symbols[at], symbols[at + 1]
        assert (left[0], right[0]) == (merge["left"], merge["right"])
        symbols[at : at + 2] = [(merge["product"], left[1], right[2])]
    return symbols

"""The special tokens that a GGUF file puts around a text, as a post-processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """The ids around a text, each None if the model puts none there."""

    bos: int | None = None
    eos: int | None = None
    sep: int | None = None
    """The id between the two texts of a pair, after the end-of-text token of the first."""
    shared_begin: bool = False
    """Whether the second text of a pair has no beginning-of-text token of its own."""


def template(frame: Frame, texts: Sequence[str]) -> dict[str, Any] | None:
    """Return the post-processor that adds the ids of `frame`, or None without ids. `texts` are all tokens, by id."""
    used = sorted({id for id in (frame.bos, frame.eos, frame.sep) if id is not None})
    if not used:
        return None

    def special(id: int | None, type_id: int) -> list[dict[str, Any]]:
        return [] if id is None else [{"SpecialToken": {"id": texts[id], "type_id": type_id}}]

    def framed(name: str, type_id: int, bos: int | None) -> list[dict[str, Any]]:
        text = {"Sequence": {"id": name, "type_id": type_id}}
        return [*special(bos, type_id), text, *special(frame.eos, type_id)]

    first = framed("A", 0, frame.bos)
    between = special(frame.sep, 0)
    second = framed("B", 1, None if frame.shared_begin or between else frame.bos)
    return {
        "type": "TemplateProcessing",
        "single": first,
        "pair": [*first, *between, *second],
        "special_tokens": {texts[id]: {"id": texts[id], "ids": [id], "tokens": [texts[id]]} for id in used},
    }

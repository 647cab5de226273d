"""The pieces and options that SentencePiece models and GGUF files state."""

from __future__ import annotations

from typing import Any, NamedTuple

Component = dict[str, Any]
"""A component of a ``tokenizer.json``."""

UNDEFINED, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(7)
"""The kinds of pieces: SentencePiece's and GGUF's numbers. Only GGUF has UNDEFINED."""
SPACE = "\u2581"
"""The character that pieces have for a space."""


class Piece(NamedTuple):
    """One entry of the vocabulary; its id is its position in the list."""

    text: str
    score: float
    kind: int
    """NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED or BYTE."""


class PieceOptions(NamedTuple):
    """The options for the steps before and after the model. The defaults are SentencePiece's."""

    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    charsmap: bytes = b""
    """Normalization rules, as ``precompiled_charsmap`` of the model holds them."""
    decoded_charsmap: bytes = b""
    """Normalization rules for decoded text."""
    byte_fallback: bool = False
    unk_surface: str = " \u2047 "
    """The text that the unknown piece decodes to."""
    bos_id: int = -1
    eos_id: int = -1
    pad_id: int = -1
    add_bos: bool = False
    """Put the piece `bos_id` before every text that is encoded with special tokens."""
    add_eos: bool = False
    control_in_text: bool = False
    """Find control pieces in texts, too: they become special added tokens. SentencePiece never does."""


def replace(pattern: str, content: str, *, regex: bool = False) -> Component:
    """A ``Replace`` component, for use as a normalizer or a decoder."""
    return {"type": "Replace", "pattern": {"Regex" if regex else "String": pattern}, "content": content}

"""Texts of each kind as batches, from the corpus or files of this machine, repeated if necessary."""

from __future__ import annotations

from functools import lru_cache

from crayon_hf.parity.inputs.texts import documents
from parity.texts import KINDS, gathered

__all__ = ["KINDS", "MOST", "one_text", "some_documents", "some_text"]

MOST = 16_000_000
"""The most bytes of a text before it is repeated."""


@lru_cache(maxsize=3)
def some_text(kind: str, most: int = MOST) -> bytes:
    """Return up to `most` bytes of UTF-8 of a kind of text, or fewer if this machine has no more."""
    data = b""
    for _, piece in gathered(kind):
        data += piece
        if len(data) >= most:
            break
    return data[:most].decode("utf-8", "ignore").encode()


def some_documents(kind: str, size: int) -> list[str]:
    """Return documents of at most 2,048 bytes of UTF-8 each. Together they have `size` bytes, or a little less."""
    return list(documents(one_text(kind, size)))


def one_text(kind: str, size: int) -> bytes:
    """Return one text of `size` bytes, or up to three bytes less so that no character is cut."""
    data = some_text(kind, min(MOST, size))
    return (data * (size // max(1, len(data)) + 1))[:size].decode("utf-8", "ignore").encode()

"""Makes a small tekken.json, the vocabulary format of Mistral."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from crayon_hf import _core


def small_tekken(tokens: Sequence[bytes]) -> dict[str, Any]:
    """A tekken.json with these tokens in order of rank. Their ids follow those of 30 special tokens, which it does not
    list."""
    return {
        "config": {
            "pattern": _core.canonical_pattern("tekken"),
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(tokens) + 30,
            "default_num_special_tokens": 30,
            "version": "v3",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
    }

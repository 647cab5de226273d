"""Texts of one pretoken of a megabyte: merging must not be quadratic in the length of a pretoken."""

from __future__ import annotations

import random

SIZE = 1_000_000


def long_pretokens(prose: str, size: int = SIZE) -> dict[str, str]:
    """Return texts of about `size` bytes that a pretokenizer hardly cuts, by kind. One has the letters of `prose`."""
    rng = random.Random(1)
    letters = "".join(c for c in prose if c.isalpha())
    return {
        "one letter": "a" * size,
        "spaces": " " * size,
        "random letters": "".join(rng.choices("etaoinshrdlucmfwyp", k=size)),
        "prose without spaces": (letters * (size // max(1, len(letters)) + 1))[:size],
        "CJK": "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(size // 3)),
        "Latin-1 noise": "".join(chr(rng.randrange(0xA1, 0x100)) for _ in range(size // 2)),
        "punctuation": "".join(rng.choices("!?.,;:#+-*/()", k=size)),
    }

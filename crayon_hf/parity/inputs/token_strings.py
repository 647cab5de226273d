"""Strings made of a vocabulary's tokens. They expose errors in merge order; random letters hardly ever form tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from .randomness import Source, source_for

CATEGORIES = ("token", "joined", "spaced", "cut", "doubled")


def generate_of_tokens(tokens: Sequence[bytes], n: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield ``n`` strings as (category, string), taking the categories in turn.

    Category ``token`` walks through the whole vocabulary in a fixed order and then begins again. Bytes that do not form
    whole characters are dropped.
    """
    if not tokens:
        raise ValueError("the vocabulary has no tokens")
    # A step that shares no factor with the number of tokens reaches all of them.
    step = next(step for step in range(7919, 7919 + len(tokens) + 1) if gcd(step, len(tokens)) == 1)
    for i in range(n):
        category, k = CATEGORIES[i % len(CATEGORIES)], i // len(CATEGORIES)
        rng = source_for(seed, f"tokens {category}", k)
        made = tokens[k * step % len(tokens)] if category == "token" else _make(category, rng, tokens)
        yield category, made.decode("utf-8", "ignore")


def _make(category: str, rng: Source, tokens: Sequence[bytes]) -> bytes:
    several = [rng.pick(tokens) for _ in range(rng.between(2, 8))]
    if category == "joined":
        return b"".join(several)
    if category == "spaced":
        return b" ".join(several)
    if category == "doubled":
        return several[0] * rng.between(2, 6) + several[1]
    pieces = []
    for token in several:
        start = rng.between(0, len(token))
        pieces.append(token[start : rng.between(start, len(token))])
    return b"".join(pieces)

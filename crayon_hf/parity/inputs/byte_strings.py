"""Hostile byte strings with a fixed seed, for encoders that accept any bytes: most are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

from .randomness import Source, source_for
from .strings import generate

CATEGORIES = ("random", "mutated", "truncated", "malformed", "valid")

# Continuations without a start, starts without an end, overlong forms, surrogates, points above U+10FFFF, and marks.
_ENCODINGS = "80 bfbfbf c3 e4b8 f09f98 c080 c1bf e08080 f0808080 eda080 edbfbf f4908080 f5 ff feff fffe efbbbf 00"
MALFORMED = tuple(map(bytes.fromhex, _ENCODINGS.split()))


def generate_bytes(n: int, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield ``n`` pairs of a category and a byte string, with the categories in turn. Equal seeds give equal bytes."""
    texts = generate(n, seed)
    for i, (_, text) in enumerate(texts):
        category = CATEGORIES[i % len(CATEGORIES)]
        rng = source_for(seed, f"bytes {category}", i)
        yield category, _make(category, rng, text.encode("utf-8", "replace"))


def _make(category: str, rng: Source, base: bytes) -> bytes:
    if category == "random":
        return bytes([rng.below(256) for _ in range(rng.between(0, 300))])
    if category == "valid":
        return base
    if category == "truncated":
        start = rng.between(0, min(3, len(base)))
        return base[start : rng.between(start, len(base))]
    data = bytearray(base)
    for _ in range(rng.between(1, 6)):
        at = rng.below(len(data) + 1)
        if category == "malformed":
            data[at:at] = rng.pick(MALFORMED)
        elif at < len(data) and rng.chance(0.5):
            data[at] = rng.below(256)
        else:
            data[at:at] = bytes([rng.below(256)])
    return bytes(data)

"""The registry of categories of hostile strings (hard to tokenize), and helpers that make parts of such strings.

No category uses Python's Unicode database, because it changes with Python's version: code points are written out in
``alphabets``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import alphabets as abc
from .randomness import Source

Category = Callable[[Source, Sequence[str]], str]
"""A function that makes a string from a random source and the vocabulary's special tokens."""

CATEGORIES: dict[str, Category] = {}


def category(function: Category) -> Category:
    """Register a category under the name of its function."""
    CATEGORIES[function.__name__] = function
    return function


def length(rng: Source, usual: int, longest: int, rare: float) -> int:
    """Return a random length of at most ``usual``, or with probability ``rare`` of at most ``longest``."""
    return rng.between(1, longest) if rng.chance(rare) else rng.between(1, usual)


def word(rng: Source, longest: int = 12) -> str:
    """Return random letters, or a real word, so that long tokens occur."""
    if longest >= 5 and rng.chance(0.5):
        return rng.pick(abc.WORDS)
    return rng.text(abc.FREQUENT_LETTERS, 1, longest)


def cased(rng: Source, word: str) -> str:
    style = rng.below(4)
    if style == 0:
        return word
    if style == 1:
        return abc.ascii_upper(word)
    if style == 2:
        return abc.ascii_upper(word[:1]) + word[1:]
    return "".join([abc.ascii_upper(ch) if rng.chance(0.5) else ch for ch in word])


def words(rng: Source, low: int, high: int) -> str:
    return " ".join([cased(rng, word(rng)) for _ in range(rng.between(low, high))])


def any_code_point(rng: Source) -> str:
    code = rng.below(0x110000 - 0x800)
    return chr(code if code < 0xD800 else code + 0x800)


def from_ranges(rng: Source, ranges: Sequence[tuple[int, int]], low: int, high: int) -> str:
    return "".join([chr(rng.between(*rng.pick(ranges))) for _ in range(rng.between(low, high))])

"""Numbers of things and lists, as sentences have them."""

from __future__ import annotations

from collections.abc import Iterable


def plural(number: int, noun: str, nouns: str = "") -> str:
    """A number of things; `nouns` is a plural other than with an s.

    >>> plural(1, "file"), plural(2000, "file"), plural(0, "box", "boxes")
    ('1 file', '2,000 files', '0 boxes')
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def joined(words: Iterable[str], last: str = "and") -> str:
    """A list with commas, and one word before its last item; at least one item.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end

"""Regular expressions that match one of many given texts, the longest that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby, takewhile
from typing import TypeVar

Item = TypeVar("Item")
_DEEPEST = 50
LONGEST = 60_000
"""The most bytes of a pattern, not counting the syntax of groups. The engine accepts patterns of 64 KiB."""


def any_of(texts: Iterable[str]) -> str:
    """Return a group that matches each of the texts. It contains a prefix that texts share only once."""
    return f"(?:{_branches(sorted(set(texts)), 0)})"


def several_of(texts: Iterable[str]) -> list[str]:
    """Return several groups like that of `any_of`, each short enough for a pattern. Together they match the texts."""
    return [any_of(part) for part in parts_of(sorted(set(texts)), lambda text: len(literal(text).encode()))]


def parts_of(items: Iterable[Item], size: Callable[[Item], int]) -> list[list[Item]]:
    """Split the items, in order, into lists whose sizes add up to at most LONGEST."""
    parts: list[list[Item]] = []
    room = 0
    for item in items:
        room -= size(item)
        if room < 0:
            parts.append([])
            room = LONGEST - size(item)
        parts[-1].append(item)
    return parts


def literal(text: str) -> str:
    """The text as a pattern of Oniguruma that matches it literally."""
    return "".join(
        f"\\{char}" if char.isascii() and char.isprintable() and not char.isalnum() else char for char in text
    )


def _branches(texts: list[str], depth: int) -> str:
    if depth == _DEEPEST:
        return "|".join(literal(text) for text in sorted(texts, key=len, reverse=True))
    found = []
    for _, group in groupby(texts, key=lambda text: text[0]):
        members = list(group)
        start = _common_start(members[0], members[-1])
        rests = [text[len(start) :] for text in members if text != start]
        inner = f"(?:{_branches(rests, depth + 1)})" if rests else ""
        found.append(literal(start) + inner + ("?" if rests and start in members else ""))
    return "|".join(found)


def _common_start(a: str, b: str) -> str:
    return "".join(x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))

"""Regular expressions that match one of many given texts, the longest that there is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, takewhile

_DEEPEST = 50


def any_of(texts: Iterable[str]) -> str:
    """A group, common beginnings written once: thousands of numbered tokens are few branches."""
    return f"(?:{_branches(sorted(set(texts)), 0)})"


def literal(text: str) -> str:
    """The text itself as a pattern of Oniguruma."""
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

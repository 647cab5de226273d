"""GitHub-flavoured Markdown: tables, and text that stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .page.words import visible

__all__ = ["escaped", "fenced", "table", "table_lines"]

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~@&$!^])|(?<=:)(//)|(?<=www)(\.)")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table whose last ``numbers`` columns are aligned to the right; every cell is Markdown already."""
    return "\n".join(table_lines(heads, rows, numbers))


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> Iterator[str]:
    """The lines of `table` as their rows come, for tables that are printed while they are measured.

    >>> list(table_lines(("call", "ns"), [("encode", "12")], numbers=1))
    ['| call | ns |', '|---|---:|', '| encode | 12 |']
    """
    yield _row(heads)
    yield f"|{'|'.join(['---'] * (len(heads) - numbers) + ['---:'] * numbers)}|"
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text as text: one line, nothing in it is markup, ends a cell, or makes a link."""
    return _ACTIVE.sub(lambda match: "".join(f"\\{char}" for char in match[0]), visible(text))


def fenced(text: str, language: str = "") -> str:
    """Text in a block of its own, whatever back-ticks it has."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"

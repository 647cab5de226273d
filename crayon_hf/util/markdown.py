"""GitHub-flavoured Markdown: tables, and escaped text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .page.words import visible

__all__ = ["escaped", "fenced", "put_between_marks", "table", "table_lines"]

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~@&$!^])|(?<=:)(//)|(?<=www)(\.)")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a table whose last ``numbers`` columns are aligned right. Cells are Markdown."""
    return "\n".join(table_lines(heads, rows, numbers))


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> Iterator[str]:
    """Yield the lines of `table` one by one, for tables that are printed while they are measured.

    >>> list(table_lines(("call", "ns"), [("encode", "12")], numbers=1))
    ['| call | ns |', '|---|---:|', '| encode | 12 |']
    """
    yield _row(heads)
    yield f"|{'|'.join(['---'] * (len(heads) - numbers) + ['---:'] * numbers)}|"
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Escape text for one line: no character is markup, ends a cell, or makes a link."""
    return _ACTIVE.sub(lambda match: "".join(f"\\{char}" for char in match[0]), visible(text))


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block with a fence longer than any run of back-ticks in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def put_between_marks(path: str | os.PathLike[str], name: str, tables: str) -> None:
    """Replace the text between the marks ``<!-- name: begin -->`` and ``end`` by `tables`. A new file gets both marks.

    Raises ValueError if the file lacks a mark.
    """
    document = Path(path)
    first, last = (f"<!-- {name}: {end} -->" for end in ("begin", "end"))
    text = document.read_text(encoding="utf-8") if document.exists() else f"{first}{last}\n"
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{path} has no {first} and {last}")
    document.write_text(f"{before}{first}\n{tables}{last}{after}", encoding="utf-8")

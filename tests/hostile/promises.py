"""The messages that the documentation promises: the first cells of its tables of errors."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "cartridge-format.md"
_HEADING = "## 9. Errors"


@cache
def promised() -> dict[str, str]:
    """Map each message, as the documentation's table writes it, to the class of the error."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n{_HEADING}\n")
    section = section.partition("\n## ")[0]
    rows = re.findall(r"^\| `(.+)` \| `?(\w+)`? \| .*\|$", section, re.MULTILINE)
    return dict(rows)


@cache
def pattern_of(promise: str, path: str) -> re.Pattern[str]:
    """Return the regular expression for a message in the documentation's table.

    ``N`` is a number, ``NAME`` a section, ``...`` anything, and ``PATH`` the file. A message without ``PATH`` begins
    with it.
    """
    whole = promise if "PATH" in promise else f"PATH: {promise}"
    parts = {
        "N": r"-?\d+",
        "NAME": r"\w+",
        "...": r"(?s:.+)",
        "PATH": f"(?:{re.escape(path)}|{re.escape(repr(path)[1:-1])})",
    }
    pieces = re.split(r"(\bNAME\b|\bN\b|\bPATH\b|\.\.\.)", whole)
    return re.compile("".join(parts.get(piece, re.escape(piece)) for piece in pieces))

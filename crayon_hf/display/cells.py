"""Text that is safe to display: invisible characters, and characters that change their neighbours, are spelled out.

The result has no control characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

# White space and control characters have a picture. Other invisible characters, and variation selectors, are spelled
# out as U+XXXX in brackets that are rare in texts.
_PICTURES = {chr(c): chr(0x2400 + c) for c in range(32)} | {" ": "·", "\n": "↵", "\t": "→", "\x7f": "␡"}
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_JOINING = frozenset(("Mn", "Me", "Mc"))
_OPEN, _CLOSE = "\u2039\u203a"
_DOTTED_CIRCLE = "◌"
_NO_CHARACTER = re.compile("([\udc80-\udcff]{1,4})")  # bytes that are not UTF-8, as surrogateescape decodes them


@dataclass(frozen=True)
class Cell:
    """The display of a character, or of a few bytes that are not UTF-8. Line breaks never split it."""

    text: str
    width: int
    is_mark: bool = False
    """Whether the cell replaces an unprintable character."""
    ends_line: bool = False


@lru_cache(maxsize=1 << 12)
def char_width(char: str) -> int:
    """Return the width of a character in terminal columns."""
    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width_of(text: str) -> int:
    """Return the width of a printable text in terminal columns."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def _is_selector(char: str) -> bool:
    return (
        "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or char in "\u034f\u3164\u115f\u1160\uffa0"
    )


def cells_of_text(text: str) -> Iterator[Cell]:
    """Yield a cell for each character. Combining marks share the cell of their base."""
    waiting = ""
    for char in text:
        category = unicodedata.category(char)
        picture = _PICTURES.get(char)
        if category in _JOINING and not _is_selector(char):
            waiting = (waiting or _DOTTED_CIRCLE) + char
            continue
        if waiting:
            yield Cell(waiting, width_of(waiting))
            waiting = ""
        if picture is not None:
            yield Cell(picture, 1, True, char == "\n")
        elif category in _UNSEEN or _is_selector(char):
            written = f"{_OPEN}U+{ord(char):04X}{_CLOSE}"
            yield Cell(written, len(written), True)
        else:
            waiting = char
    if waiting:
        yield Cell(waiting, width_of(waiting))


def cells_of_bytes(data: bytes) -> Iterator[Cell]:
    """Yield the cells of bytes like `cells_of_text`. Bytes that are not UTF-8 become hexadecimal."""
    for i, part in enumerate(_NO_CHARACTER.split(data.decode("utf-8", "surrogateescape"))):
        if i % 2 == 0:
            yield from cells_of_text(part)
            continue
        written = f"{_OPEN}{hexadecimal(part.encode('utf-8', 'surrogateescape'))}{_CLOSE}"
        yield Cell(written, len(written), True)


def plain(text: str | bytes) -> str:
    """Return a text as one printable line."""
    if text.isascii() and text.isalnum():
        return text if isinstance(text, str) else text.decode()
    return "".join(cell.text for cell in (cells_of_bytes(text) if isinstance(text, bytes) else cells_of_text(text)))


def hexadecimal(data: Iterable[int]) -> str:
    """Format bytes in hexadecimal, separated by spaces."""
    return " ".join(f"{byte:02X}" for byte in data)

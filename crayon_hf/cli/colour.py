"""What a terminal shows: which characters are safe to print, how wide they are, and colours.

Whatever a text has in it, what is printed here has no control characters of its own: they are shown, not sent.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TextIO

RESET = "\x1b[0m"

# White space and control characters have a picture; whatever else is not seen, or changes what stands beside it, is
# written out in brackets that are rare in texts.
_PICTURES = {chr(c): chr(0x2400 + c) for c in range(32)} | {" ": "·", "\n": "↵", "\t": "→", "\x7f": "␡"}
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_JOINING = frozenset(("Mn", "Me", "Mc"))
_OPEN, _CLOSE = "\u2039\u203a"
_DOTTED_CIRCLE = "◌"
_NO_CHARACTER = re.compile("([\udc80-\udcff]{1,4})")  # bytes that Python's surrogateescape could not decode


@dataclass(frozen=True)
class Cell:
    """What is printed for a character, or for a few bytes that are none. It is never torn by a line's end."""

    text: str
    width: int
    is_mark: bool = False
    """It stands for something that cannot be printed itself."""
    ends_line: bool = False


@lru_cache(maxsize=1 << 12)
def char_width(char: str) -> int:
    """Columns of a terminal."""
    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width_of(text: str) -> int:
    """Columns of a text that may be printed as it is."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def _is_selector(char: str) -> bool:
    return (
        "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or char in "\u034f\u3164\u115f\u1160\uffa0"
    )


def cells_of_text(text: str) -> Iterator[Cell]:
    """A cell for each character, with marks that combine in the cell of what they are on."""
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
    """The same for bytes: those that are no part of a whole character are shown as hexadecimal numbers."""
    for i, part in enumerate(_NO_CHARACTER.split(data.decode("utf-8", "surrogateescape"))):
        if i % 2 == 0:
            yield from cells_of_text(part)
            continue
        written = f"{_OPEN}{hexadecimal(part.encode('utf-8', 'surrogateescape'))}{_CLOSE}"
        yield Cell(written, len(written), True)


def plain(text: str | bytes) -> str:
    """A text as one line that is safe to print."""
    if text.isascii() and text.isalnum():
        return text if isinstance(text, str) else text.decode()
    return "".join(cell.text for cell in (cells_of_bytes(text) if isinstance(text, bytes) else cells_of_text(text)))


def shortened(text: str, width: int) -> str:
    """A text that is safe to print, cut to so many columns; the cut shows."""
    if width_of(text) <= width:
        return text
    kept, room = "", width - 1
    for char in text:
        room -= char_width(char)
        if room < 0:
            break
        kept += char
    return kept + "…" if width > 0 else ""


def padded(text: str, width: int, right: bool = False) -> str:
    """A text that is safe to print, cut or filled to so many columns."""
    text = shortened(text, width)
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


# Dark letters on light grounds that differ from both black and white: readable whatever the terminal's own colours are.
_RICH = ("48;5;153", "48;5;223", "48;5;157", "48;5;225", "48;5;229", "48;5;189")
_BASIC = ("46", "43", "42", "45")


class Paint:
    """Colours, or none."""

    FAINT = "2"

    def __init__(self, enabled: bool, rich: bool = True) -> None:
        """`rich` is a terminal of 256 colours, else it has eight."""
        self.enabled = enabled
        self._grounds = _RICH if rich else _BASIC
        self._ink, self._mark = ("38;5;16", "38;5;94") if rich else ("30", "30")
        self._special = "48;5;250" if rich else "47"

    def with_codes(self, codes: str, text: str) -> str:
        """A text in colours that were asked for before."""
        return f"\x1b[{codes}m{text}{RESET}" if self.enabled and codes and text else text

    def token_codes(self, number: int, is_mark: bool = False, is_special: bool = False, differs: bool = False) -> str:
        """The colours of token `number`: neighbours have different grounds."""
        ground = self._special if is_special else self._grounds[number % len(self._grounds)]
        return f"{ground};{self._mark if is_mark else self._ink}{';1;4' if differs else ''}"

    def token(self, number: int, text: str, is_special: bool = False) -> str:
        """A token in its colours."""
        return self.with_codes(self.token_codes(number, is_special=is_special), text)

    def faint(self, text: str) -> str:
        """What explains."""
        return self.with_codes(self.FAINT, text)

    def strong(self, text: str) -> str:
        """What is looked for first."""
        return self.with_codes("1", text)

    def alert(self, text: str) -> str:
        """What differs."""
        return self.with_codes("1;31", text)


def paint_for(stream: TextIO, when: str) -> Paint:
    """`when` is "always", "never", or "auto": on a terminal, unless NO_COLOR (no-color.org) or TERM says otherwise."""
    term = os.environ.get("TERM", "")
    if when == "auto":
        enabled = stream.isatty() and term != "dumb" and not os.environ.get("NO_COLOR")
    else:
        enabled = when == "always"
    is_basic = term in ("linux", "xterm", "ansi", "vt100", "vt220", "screen", "cygwin") and not os.environ.get(
        "COLORTERM"
    )
    return Paint(enabled, rich=not is_basic)


def terminal_width() -> int:
    """Columns of the terminal; COLUMNS overrides it, and 80 is for what is none."""
    return max(20, shutil.get_terminal_size((80, 24)).columns)


def hexadecimal(data: Iterable[int]) -> str:
    """Bytes as people read them."""
    return " ".join(f"{byte:02X}" for byte in data)

"""Terminal output: fields of fixed width, and colours."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from crayon_hf.cli.output import wants_colours
from crayon_hf.display.cells import char_width, width_of

RESET = "\x1b[0m"


def shortened(text: str, width: int) -> str:
    """Cut a printable text to `width` columns, with an ellipsis if it was longer."""
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
    """Cut or fill a printable text to `width` columns."""
    text = shortened(text, width)
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


# Dark text on light backgrounds that differ from black and white: readable with any colours of the terminal.
_RICH = ("48;5;153", "48;5;223", "48;5;157", "48;5;225", "48;5;229", "48;5;189")
_BASIC = ("46", "43", "42", "45")


class Paint:
    """Paints text in colours, if enabled."""

    FAINT = "2"

    def __init__(self, enabled: bool, rich: bool = True) -> None:
        """`rich` tells that the terminal has 256 colours instead of eight."""
        self.enabled = enabled
        self._grounds = _RICH if rich else _BASIC
        self._ink, self._mark = ("38;5;16", "38;5;94") if rich else ("30", "30")
        self._special = "48;5;250" if rich else "47"

    def with_codes(self, codes: str, text: str) -> str:
        """The text in the colours of ANSI `codes`."""
        return f"\x1b[{codes}m{text}{RESET}" if self.enabled and codes and text else text

    def token_codes(self, number: int, is_mark: bool = False, is_special: bool = False, differs: bool = False) -> str:
        """The colour codes of token `number`. Neighbours have different backgrounds."""
        ground = self._special if is_special else self._grounds[number % len(self._grounds)]
        return f"{ground};{self._mark if is_mark else self._ink}{';1;4' if differs else ''}"

    def token(self, number: int, text: str, is_special: bool = False) -> str:
        """The text of token `number` in its colours."""
        return self.with_codes(self.token_codes(number, is_special=is_special), text)

    def faint(self, text: str) -> str:
        """The text in the style of explanations."""
        return self.with_codes(self.FAINT, text)

    def strong(self, text: str) -> str:
        """The text, emphasized."""
        return self.with_codes("1", text)

    def alert(self, text: str) -> str:
        """The text in the colour of differences."""
        return self.with_codes("1;31", text)


def paint_for(stream: TextIO, when: str) -> Paint:
    """The `Paint` for a stream. `when` is "always", "never", or "auto" for terminals that may have colours."""
    term = os.environ.get("TERM", "")
    enabled = stream.isatty() and wants_colours() if when == "auto" else when == "always"
    is_basic = term in ("linux", "xterm", "ansi", "vt100", "vt220", "screen", "cygwin") and not os.environ.get(
        "COLORTERM"
    )
    return Paint(enabled, rich=not is_basic)


def terminal_width() -> int:
    """Return the width of the terminal in columns. COLUMNS overrides it, and 80 is the width without a terminal."""
    return max(20, shutil.get_terminal_size((80, 24)).columns)

"""Format numbers and text for pages and reports."""

from __future__ import annotations

import re

# A fixed list, since Python's Unicode tables change with its version: controls, zero-width characters, direction marks,
# blank letters, surrogates and noncharacters.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)


def visible(text: str, keep: str = "") -> str:
    r"""Escape characters that are invisible or change their neighbours as ``\x..`` or ``\u....``.

    Lone surrogates are escaped, so the result can be encoded as UTF-8. Characters in `keep` are unchanged.
    """

    def escaped(match: re.Match[str]) -> str:
        char = match[0]
        if char in keep:
            return char
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return _INVISIBLE.sub(escaped, text)


def count(number: int) -> str:
    """Format a number with separators: ``12,345``."""
    return f"{number:,}"


def large(number: int) -> str:
    """Format a number with up to four digits: ``9,213``, ``81.4 k``, ``16.8 M``."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if number >= size:
            shown = number / (1000 if letter == "k" else size)
            return f"{shown:.0f} {letter}" if shown >= 100 else f"{shown:.1f} {letter}"
    return count(number)

"""A separator as people write it on a command line: with escapes for what cannot be typed."""

from __future__ import annotations

import re

_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0", "\\": "\\"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[nrtfv\\]|0[0-9]?|.?)", re.DOTALL)


def unescaped(text: str) -> str:
    r"""What `text` means: ``\n``, ``\r``, ``\t``, ``\f``, ``\v``, ``\0``, ``\\``, ``\xHH``, ``\uHHHH``, ``\UHHHHHHHH``.

    ValueError for any other escape, for ``\x80`` and above, which may be meant as a byte or as a character, and for
    what is no character of UTF-8.
    """
    return _ESCAPE.sub(lambda match: _character(match[1]), text)


def _character(escape: str) -> str:
    if escape in _CHARACTERS:
        return _CHARACTERS[escape]
    if len(escape) < 3:
        raise ValueError(
            rf"separator: \{escape} is no escape; there are \n \r \t \f \v \0 \\ \xHH \uHHHH \UHHHHHHHH "
            r"(\\ is one backslash)"
        )
    code = int(escape[1:], 16)
    if escape[0] == "x" and code >= 0x80:
        raise ValueError(rf"separator: \{escape} is no ASCII; for the character write \u{code:04x}")
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(rf"separator: \{escape} is no character of UTF-8")
    return chr(code)

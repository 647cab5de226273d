"""Numbers with units: ``32k`` tokens, ``16M`` bytes."""

from __future__ import annotations

import re

_COUNT = re.compile(r"(\d+)(?:\.(\d+))?([kKmMgGbB]?)")
_SIZE = re.compile(r"(\d+)([kKmMgGtT]?)(?:i?[bB])?")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "b": 3, "t": 4}


def count_of(text: str) -> int:
    """Parse a count; k, M and G (or B) are thousands, millions and billions. Raise ValueError if `text` is malformed.

    >>> count_of("32k"), count_of("1.5M"), count_of("50257")
    (32000, 1500000, 50257)
    """
    match = _COUNT.fullmatch(text)
    if match is None or not text.isascii():
        raise ValueError(f"{text!r} is not a number, such as 32000 or 32k")
    whole, part, unit = match[1], match[2] or "", match[3].lower()
    zeros = 3 * _POWERS[unit] - len(part)
    if zeros < 0:
        raise ValueError(f"{text!r} is not a whole number")
    return int(whole + part) * int(10**zeros)


def size_of(text: str) -> int:
    """Parse a number of bytes; K, M, G and T (KB, KiB, ...) are powers of 1024. Raise ValueError if `text` is
    malformed.

    >>> size_of("16M"), size_of("2GiB"), size_of("512")
    (16777216, 2147483648, 512)
    """
    match = _SIZE.fullmatch(text)
    if match is None or not text.isascii():
        raise ValueError(f"{text!r} is not a number of bytes, such as 65536, 64K or 2G")
    return int(match[1]) << 10 * _POWERS[match[2].lower()]


def shown_size(size: float) -> str:
    """Format a number of bytes: ``5.8 MiB``.

    >>> shown_size(6105472), shown_size(17)
    ('5.8 MiB', '17 bytes')
    """
    if size < 1024:
        return f"{size:.0f} byte{'' if size == 1 else 's'}"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"

"""The byte-level alphabet of GPT-2: how vocabularies spell bytes as printable characters."""

from __future__ import annotations

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_REST = [byte for byte in range(256) if byte not in set(_PRINTABLE)]

BYTE_LEVEL = {byte: byte for byte in _PRINTABLE} | {byte: 0x100 + i for i, byte in enumerate(_REST)}
"""Byte to code point, for `str.translate`: printable Latin-1 maps to itself, other bytes to U+0100 and up."""


_BYTES = {chr(char): byte for byte, char in BYTE_LEVEL.items()}


def spell(data: bytes) -> str:
    """Return the spelling of bytes in the byte-level alphabet, one character for each byte."""
    return data.decode("latin-1").translate(BYTE_LEVEL)


def unspell(text: str) -> bytes | None:
    """Return the bytes that a text spells in the byte-level alphabet, or None if it has other characters."""
    try:
        return bytes(map(_BYTES.__getitem__, text))
    except KeyError:
        return None

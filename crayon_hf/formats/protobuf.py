"""The wire format of protocol buffers, as far as model files need it: a sequence of numbered fields.

`Message` reads it, `field_bytes` writes a field.

Facts: "Encoding" in the documentation of protocol buffers. The reader uses no schema, and skips unknown fields.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from crayon_hf.errors import VocabularyError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_NAMES = {VARINT: "a number", FIXED64: "8 bytes", BYTES: "bytes", FIXED32: "4 bytes"}
_LARGEST_FIELD = (1 << 29) - 1


class Field(NamedTuple):
    """One field of a message. Its content is `value` for a number, and otherwise the bytes from `start` to `end`."""

    number: int
    wire: int
    offset: int
    """Where the field starts in the file."""
    value: int
    start: int
    end: int


class Message:
    """A message in a range of a file. Every error is a VocabularyError that names the offset."""

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.start = start
        self.end = len(data) if end is None else end

    def __iter__(self) -> Iterator[Field]:
        position = self.start
        while position < self.end:
            offset = position
            key, position = self._varint(position)
            number, wire = key >> 3, key & 7
            if not 0 < number <= _LARGEST_FIELD:
                raise VocabularyError(f"byte {offset} of the file starts no field: its number would be {number}")
            value, start = 0, position
            if wire == VARINT:
                value, position = self._varint(position)
            elif wire == BYTES:
                length, start = self._varint(position)
                position = start + length
            elif wire in (FIXED32, FIXED64):
                position += 4 if wire == FIXED32 else 8
            else:
                raise VocabularyError(f"byte {offset} of the file starts a field of an unknown kind ({wire})")
            if position > self.end:
                raise VocabularyError(
                    f"the field at byte {offset} is longer than the message around it: the file is damaged"
                )
            yield Field(number, wire, offset, value, start, position)

    def _varint(self, position: int) -> tuple[int, int]:
        if position < self.end and (byte := self.data[position]) < 128:  # the usual case
            return byte, position + 1
        value = shift = 0
        for at in range(position, min(position + 10, self.end)):
            byte = self.data[at]
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + 1
            shift += 7
        raise VocabularyError(f"the number at byte {position} does not end: the file is damaged")

    def message(self, field: Field) -> Message:
        """The message that a field holds."""
        self._expect(field, BYTES)
        return Message(self.data, field.start, field.end)

    def bytes(self, field: Field) -> bytes:
        """The bytes that a field holds."""
        self._expect(field, BYTES)
        return self.data[field.start : field.end]

    def text(self, field: Field) -> str:
        """The text that a field holds."""
        try:
            return self.bytes(field).decode()
        except UnicodeDecodeError as error:
            raise VocabularyError(f"the text at byte {field.start + error.start} is not UTF-8") from error

    def integer(self, field: Field) -> int:
        """A signed integer of 32 bits."""
        self._expect(field, VARINT)
        value = field.value & 0xFFFF_FFFF
        return value - (1 << 32) if value >= 1 << 31 else value

    def flag(self, field: Field) -> bool:
        """A truth value."""
        self._expect(field, VARINT)
        return field.value != 0

    def float(self, field: Field) -> float:
        """A number of single precision."""
        self._expect(field, FIXED32)
        value: float = struct.unpack_from("<f", self.data, field.start)[0]
        return value

    def _expect(self, field: Field, wire: int) -> None:
        if field.wire != wire:
            raise VocabularyError(
                f"field {field.number} at byte {field.offset} holds {_NAMES[field.wire]} instead of {_NAMES[wire]}"
            )


def field_bytes(number: int, value: bool | int | float | str | bytes) -> bytes:
    """One field as bytes: a whole number, a number of single precision, a text, or the bytes of a message.

    >>> field_bytes(1, "ab") + field_bytes(3, 4)
    b'\\n\\x02ab\\x18\\x04'
    """
    if isinstance(value, float):
        return _varint(number << 3 | FIXED32) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    rest = value & 0xFFFF_FFFF_FFFF_FFFF  # a negative number has all 64 bits
    data = bytearray()
    while rest > 127:
        data.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*data, rest])

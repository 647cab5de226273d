"""The metadata of a GGUF file, which precedes its tensors. `read_metadata` reads it, `metadata_file` writes it.

The layout is that of the GGUF specification (ggml's docs/gguf.md), versions 2 and 3, in either byte order. The file is
mapped and only its metadata is read, so the time does not depend on the size of the tensors.

The ``gguf`` package is not used: it makes an array object for every string, 15 seconds and 0.8 GB for 128,000 tokens
with their merges. It also trusts every count in a file, and reads the tensors' descriptions.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.errors import UnsupportedError, VocabularyError

LIMIT = 1 << 27
"""The metadata must end within this number of bytes; the largest published vocabularies take 16 MB."""
MOST_STRINGS = 1 << 23
"""The most elements of an array of strings; the largest published ones have half a million."""

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_BOOL, _UINT32 = 7, 4
_VERSION, _ALIGNMENT = 3, 32
_LONGEST_KEY = 256  # real keys have about thirty letters
_SMALLEST_ENTRY = 8 + 4 + 1  # the length of an empty key, a type, and a byte

Metadata = Mapping[str, Any]
"""Scalars and strings as Python objects, arrays of strings as lists, other arrays as NumPy arrays."""


def is_gguf(start: bytes) -> bool:
    """Whether a file with these first bytes is a GGUF file."""
    return start[:4] == b"GGUF"


def read_metadata(path: str | os.PathLike[str]) -> Metadata:
    """Return the metadata about the tokenizer and the model in general; other keys are skipped.

    Raises VocabularyError if the file is damaged, and UnsupportedError for other versions of the format.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise VocabularyError(f"{os.fspath(path)!r} is not a file")
        if status.st_size == 0:
            raise VocabularyError("not a GGUF file: it is empty")
        length = min(status.st_size, LIMIT)
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as data:
            return _Reader(data, length, status.st_size).read()


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def metadata_file(metadata: Metadata) -> bytes:
    """A GGUF file of version 3 without tensors. Values are those of `read_metadata`, without negative numbers."""
    parts = [b"GGUF", struct.pack("<IQQ", _VERSION, 0, len(metadata))]
    for name, value in metadata.items():
        parts += [_string_bytes(name), *_value_parts(value)]
    data = b"".join(parts)
    return data + bytes(-len(data) % _ALIGNMENT)  # the file ends where tensors would begin


def _value_parts(value: Any) -> list[bytes]:
    if isinstance(value, bool):
        return [struct.pack("<I?", _BOOL, value)]
    if isinstance(value, int):
        return [struct.pack("<II", _UINT32, value)]
    if isinstance(value, str):
        return [struct.pack("<I", _STRING), _string_bytes(value)]
    if isinstance(value, list):
        return [struct.pack("<IIQ", _ARRAY, _STRING, len(value)), *map(_string_bytes, value)]
    kind = next(kind for kind, letter in _SCALARS.items() if np.dtype(letter) == value.dtype)
    return [struct.pack("<IIQ", _ARRAY, kind, len(value)), value.astype(value.dtype.newbyteorder("<")).tobytes()]


def _string_bytes(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


class _Reader:
    """A cursor in mapped metadata. Reading beyond the end of the metadata raises VocabularyError."""

    def __init__(self, data: mmap.mmap, length: int, file_size: int) -> None:
        self._data = data
        self._length = length
        self._file_size = file_size
        self._at = 0
        self._order = "<"

    def read(self) -> Metadata:
        count = self._header()
        metadata: dict[str, Any] = {}
        names: set[str] = set()
        for _ in range(count):
            name = self._string("a key", _LONGEST_KEY)
            if name in names or not (name and name.isprintable()):
                fault = "is listed twice" if name in names else "is not a valid key"
                raise VocabularyError(f"the GGUF file is damaged: {name!r} {fault}")
            names.add(name)
            wanted = name.startswith(("tokenizer.", "general.")) or name.endswith(".context_length")
            value = self._value(self._scalar("I"), name, wanted)
            if wanted:
                metadata[name] = value
        return metadata

    def _header(self) -> int:
        if not is_gguf(self._data[:4]):
            raise VocabularyError("not a GGUF file: it does not begin with GGUF")
        self._at = 4
        version = self._scalar("I")
        if version & 0xFFFF == 0:  # a small number in the other byte order
            self._order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in (2, 3):
            raise UnsupportedError(f"GGUF version {version}: only versions 2 and 3 are supported")
        self._scalar("Q")  # the number of tensors
        count: int = self._scalar("Q")
        if count > (self._length - self._at) // _SMALLEST_ENTRY:
            raise VocabularyError(f"the GGUF file is damaged: it cannot hold {count} entries of metadata")
        return count

    def _value(self, kind: int, name: str, wanted: bool) -> Any:
        if kind == _STRING:
            return self._string(name)
        if kind == _ARRAY:
            return self._array(name, wanted)
        letter = _SCALARS.get(kind)
        if letter is None:
            raise VocabularyError(f"the GGUF file is damaged: {name} has type {kind}")
        return self._scalar(letter)

    def _array(self, name: str, wanted: bool) -> list[str] | npt.NDArray[Any] | None:
        kind, count = self._scalar("I"), self._scalar("Q")
        if kind == _STRING:
            return self._strings(name, count, wanted)
        letter = _SCALARS.get(kind)
        if letter is None:
            what = "arrays in an array" if kind == _ARRAY else f"elements of type {kind}"
            raise VocabularyError(f"the GGUF file is damaged: {name} has {what}")
        form = np.dtype(self._order + letter)
        start = self._take(form.itemsize * count, name)
        if not wanted:
            return None
        return np.frombuffer(self._data[start : self._at], form)  # a copy: the map is closed afterwards

    def _strings(self, name: str, count: int, wanted: bool) -> list[str] | None:
        data, length, at = self._data, self._length, self._at
        if count > (length - at) // 8:
            raise self._overrun(name)
        if count > MOST_STRINGS:
            raise VocabularyError(
                f"the GGUF file is damaged: {name} has {count} strings, more than the {MOST_STRINGS} allowed"
            )
        size_of = struct.Struct(self._order + "Q").unpack_from
        values: list[str] = []
        for number in range(count):
            start = at + 8
            if start > length:
                raise self._overrun(name)
            at = start + size_of(data, at)[0]
            if at > length:
                raise self._overrun(name)
            if wanted:
                try:
                    values.append(data[start:at].decode())
                except UnicodeDecodeError as error:
                    raise VocabularyError(f"element {number} of {name} is not UTF-8") from error
        self._at = at
        return values if wanted else None

    def _string(self, name: str, longest: int = LIMIT) -> str:
        size = self._scalar("Q")
        if size > longest:
            raise self._overrun(name)
        start = self._take(size, name)
        try:
            return self._data[start : start + size].decode()
        except UnicodeDecodeError as error:
            raise VocabularyError(f"the GGUF file is damaged: {name} is not UTF-8") from error

    def _scalar(self, letter: str) -> Any:
        form = self._order + letter
        return struct.unpack_from(form, self._data, self._take(struct.calcsize(form), "a value"))[0]

    def _take(self, size: int, name: str) -> int:
        """Advance by `size` bytes and return their start."""
        start = self._at
        if size > self._length - start:
            raise self._overrun(name)
        self._at = start + size
        return start

    def _overrun(self, name: str) -> VocabularyError:
        if self._length < self._file_size:
            return VocabularyError(f"the GGUF file is damaged: {name} does not end within {LIMIT >> 20} MB of metadata")
        return VocabularyError(f"the GGUF file is cut off or damaged: {name} goes past its end")

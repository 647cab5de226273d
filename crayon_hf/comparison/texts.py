"""Reads documents piece by piece, and counts bytes, characters and words by script."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.text_readers.documents import Documents, InputFile, Reading, format_of
from crayon_hf.text_readers.files import read_documents
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.trees import is_binary
from crayon_hf.util.scripts import CODE_POINTS, COMMON, INHERITED, NAMES, of_code_points
from crayon_hf.util.validation import not_utf8

PIECE = 1 << 20
"""The approximate number of bytes read at a time."""
_OF_COLUMNS = (".jsonl", ".ndjson", ".parquet", ".arrow", ".arrows", ".feather")
"""Suffixes of files that are read by column, even if the caller names no column."""
_COMMON = NAMES.index(COMMON)
_OWN = NAMES.index(INHERITED) + 1
"""Scripts from this index of `NAMES` on have letters of their own."""

Matrix = npt.NDArray[np.int64]
"""Counts: a row for each quantity, such as bytes or tokens, and a column for each script of `NAMES`."""


class Piece(NamedTuple):
    """Whole documents one after the other, or a part of one document."""

    data: bytes | memoryview
    begins: npt.NDArray[np.int64]
    """The offsets in `data` at which documents begin, or a single 0 for a part of one document."""
    ends: npt.NDArray[np.int64]
    is_first: bool
    """Whether the piece begins a document. If False, it continues the document of the previous piece."""
    is_last: bool
    """Whether the piece ends a document. If False, the next piece continues the document."""
    done: int
    """Bytes of the file read so far, as stored."""


def reads_column(file: InputFile, format: str | None, column: str | None) -> bool:
    """Whether a file is read by column; otherwise the whole file is one text."""
    said, packing = format_of(file.address)
    if format is not None or column is not None:
        return (format or said) not in (None, "text")
    name = file.address[: len(file.address) - len(packing)].lower()
    return name.endswith(_OF_COLUMNS)


def pieces_of(file: InputFile, format: str | None, column: str | None) -> Iterator[Piece]:
    """Iterate over the text of a file.

    Raises:
        InvalidUtf8Error: The file is not UTF-8, or has a zero among its first 8,000 bytes. The message names the file.
    """
    if not reads_column(file, format, column):
        yield from _text(file)
        return
    reading = Reading(format=format, batch_bytes=PIECE, threads=1)
    for batch in read_documents(file, reading if column is None else reading._replace(column=column)):
        yield _joined(batch)


def _joined(batch: Documents) -> Piece:
    """Return the documents of a batch as a piece, without the bytes between them."""
    ranges = zip(batch.begins.tolist(), batch.ends.tolist(), strict=True)
    data = b"".join([batch.data[begin:end] for begin, end in ranges])
    ends = np.cumsum(batch.ends - batch.begins)
    return Piece(data, ends - (batch.ends - batch.begins), ends, True, True, batch.size)


def _text(file: InputFile) -> Iterator[Piece]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    buffer = bytearray(min(PIECE, file.size + 1) if file.size >= 0 and not format_of(file.address)[1] else PIECE)
    place, is_last = 0, False
    with Stored(file, format_of(file.address)[1]) as source:
        while not is_last:
            filled = 0
            while filled < len(buffer) and not is_last:
                with memoryview(buffer)[filled:] as room:
                    read = source.readinto(room)
                filled, is_last = filled + read, read == 0
            block = bytes(memoryview(buffer)[:filled])
            kept = len(decoder.getstate()[0])
            try:
                data = decoder.decode(block, is_last).encode()
            except UnicodeDecodeError as error:
                raise not_utf8(f"{file.address}: the text", place - kept + error.start) from None
            if place == 0 and is_binary(block):
                raise InvalidUtf8Error(f"{file.address} is a binary file: it has a zero byte among the first 8,000")
            zero, end = np.zeros(1, np.int64), np.full(1, len(data), np.int64)
            yield Piece(data, zero, end, place == 0, is_last, source.done)
            place += filled


class Seen(NamedTuple):
    """The state at the end of a piece, from which the next piece of the document continues."""

    script: int = _COMMON
    is_in_word: bool = False


class Look(NamedTuple):
    """The counts of a piece."""

    scripts: npt.NDArray[np.uint8]
    """The script of each byte, as an index of `NAMES`."""
    amounts: Matrix
    """The counts in three rows: bytes, characters and words."""
    end: Seen


def look_at(piece: Piece, before: Seen) -> Look:
    """Count the bytes, characters and words of a piece. `before` is the state at the end of the previous piece."""
    codes = np.frombuffer(bytes(piece.data).decode().encode("utf-32-le"), "<u4")
    amounts = np.zeros((3, len(NAMES)), np.int64)
    if not len(codes):
        amounts[2, before.script] += before.is_in_word and piece.is_last
        return Look(np.zeros(0, np.uint8), amounts, before)
    sizes = 1 + (codes >= 0x80).astype(np.int8) + (codes >= 0x800) + (codes >= 0x10000)
    begins_document = np.zeros(len(codes) + 1, bool)
    places = np.cumsum(sizes, dtype=np.int64)
    full = piece.ends > piece.begins
    begins_document[np.searchsorted(places, piece.begins[full], side="right")] = piece.is_first
    begins_document[-1] = piece.is_last
    scripts = _with_neighbours(of_code_points()[codes], begins_document[:-1], before.script)
    is_space = _spaces()[codes]
    ends_word = ~is_space
    ends_word[:-1] &= is_space[1:] | begins_document[1:-1]
    ends_word[-1] &= piece.is_last
    amounts[0] = _counts(scripts, sizes)
    amounts[1] = _counts(scripts)
    amounts[2] = _counts(scripts[ends_word])
    amounts[2, before.script] += before.is_in_word and bool(is_space[0])
    end = Seen() if piece.is_last else Seen(int(scripts[-1]), not is_space[-1])
    return Look(np.repeat(scripts, sizes), amounts, end)


def _with_neighbours(
    scripts: npt.NDArray[np.uint8], begins_document: npt.NDArray[np.bool_], before: int
) -> npt.NDArray[np.uint8]:
    """Give characters without a script of their own the script of the last letter before them in the document."""
    has_own = scripts >= _OWN
    places = np.where(has_own | begins_document, np.arange(1, len(scripts) + 1), 0)
    known = np.concatenate((np.array([before], np.uint8), np.where(has_own, scripts, _COMMON).astype(np.uint8)))
    return np.asarray(known[np.maximum.accumulate(places)])


def _counts(scripts: npt.NDArray[np.uint8], weights: Any = None) -> npt.NDArray[np.int64]:
    return np.bincount(scripts, weights, len(NAMES)).astype(np.int64)


@cache
def _spaces() -> npt.NDArray[np.bool_]:
    """Return for each code point whether it is white space by `str.isspace`."""
    found = np.zeros(CODE_POINTS, bool)
    found[[code for code in range(0x3001) if chr(code).isspace()]] = True
    return found

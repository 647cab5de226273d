"""Files of JSON lines as documents. The native core reads plain lines, and Python's ``json`` unusual ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from crayon_hf._core import read_json_lines, whole_lines
from crayon_hf.text_readers.batches import MOST_RECORDS, Batch, Column, Ranges, assembled, too_long
from crayon_hf.text_readers.blocks import blocks
from crayon_hf.text_readers.documents import Documents, Reading
from crayon_hf.text_readers.stored import Stored, Stream
from crayon_hf.text_readers.template import Template
from crayon_hf.util.validation import kind

_BLANK, _UNSURE = 1, 2
_SURROGATES = re.compile("[\ud800-\udfff]")
_JSON = {list: "list", str: "string", bool: "boolean", type(None): "null"}
"""JSON's names for the types of Python."""


def json_documents(source: Stored | Stream, reading: Reading, block_bytes: int) -> Iterator[Documents]:
    """Yield the documents of a file of JSON lines."""
    template = None if reading.template is None else Template(reading.template)
    limit, number = reading.max_document_bytes, 1
    for view, size in blocks(source, b"\n", _whole, block_bytes, limit):
        batch = Batch(reading, source.file.address, "line", number)
        if size:
            batch.bad(0, too_long(size, limit))
            begins = ends = np.zeros(1, np.int64)
        else:
            view, begins, ends = _texts(batch, view, reading, template)
        yield batch.documents(view, begins, ends, source.done)
        number += len(begins)
        del batch, view, begins, ends  # frees their memory for the next block


def _whole(buffer: bytearray, old: int, size: int, at_end: bool) -> int:
    """Implement the argument `whole` of `blocks` for lines: a block has at most MOST_RECORDS lines."""
    return whole_lines(buffer, old, size, MOST_RECORDS, at_end)


def _texts(
    batch: Batch, view: memoryview, reading: Reading, template: Template | None
) -> tuple[memoryview, Ranges, Ranges]:
    """Return the ranges of the texts of a block of lines. Unusual lines are told to `batch`."""
    columns, limit = reading.columns, reading.max_document_bytes
    lines = read_json_lines(view, len(view), columns, reading.threads)
    status, bounds = lines.status, lines.line_begins
    plain = status == 0
    # Only plain lines have ranges.
    begins, ends = (np.where(plain, of_lines.T, 0) for of_lines in (lines.begins, lines.ends))
    long = np.zeros(len(status), bool)
    if len(view) > limit or template is not None:
        sizes = np.diff(bounds) - 1
        sizes[-1] += view[-1] != 0x0A
        if template is not None:  # the texts made of these lines have the same limit
            sizes = np.where(plain, np.maximum(sizes, template.sizes(ends - begins)), sizes)
        long = sizes > limit
    if not plain.all():
        batch.blank(np.flatnonzero((status == _BLANK) & ~long).tolist())
    for i in np.flatnonzero((status == _UNSURE) | long).tolist():
        if long[i]:
            batch.bad(i, too_long(int(sizes[i]), limit))
            continue
        line = bytes(view[bounds[i] : bounds[i + 1]]).removesuffix(b"\n")
        reason, text = _judged(line, columns, reading, template)
        if reason is not None:
            batch.bad(i, reason, text or b"")
        elif text is None:
            batch.blank([i])
        else:
            batch.text(i, text)
    if template is None:
        return view, begins[0], ends[0]
    return assembled(template, [Column("", view, *of_column) for of_column in zip(begins, ends, strict=True)])


def _judged(
    line: bytes, columns: list[str], reading: Reading, template: Template | None
) -> tuple[str | None, bytes | None]:
    """Parse a line with ``json``. Return (None, text), (None, None) for a line to skip, or (reason, replacement).

    The reason says why the line is bad. The replacement is a text for ``bad_records="replace"``, or None for an empty
    one.
    """
    if not re.sub(rb"^(\xef\xbb\xbf)+", b"", line).strip():
        return None, None
    reason: str | None = None
    try:
        content = line.decode()
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8: invalid byte at offset {error.start} of the line"
        content = line.decode("utf-8", "replace")
    try:
        record: Any = json.loads(content.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        return reason or f"is not JSON: {error} (a file of plain text is read with format='text')", None
    if not isinstance(record, dict):
        wanted = ", ".join(map(repr, columns))
        return reason or f"is a JSON {_JSON.get(type(record), 'number')}, expected an object with {wanted}", None
    if missing := [column for column in columns if column not in record]:
        known = ", ".join(map(repr, list(record)[:20])) or "nothing"
        return reason or f"has no {missing[0]!r}; it has {known}", None
    values = []
    for column in columns:
        text = record[column]
        if text is None and reading.skips_nulls:
            return reason, None
        if not isinstance(text, str):
            return reason or f"{column!r} is {kind(text)}, expected str", None
        clean = _SURROGATES.sub("\ufffd", text)
        if clean != text:
            reason = reason or f"{column!r} has a lone surrogate, which is not valid text"
        values.append(clean.encode())
    text = values[0] if template is None else template.text(values)
    if reason is None and len(text) > reading.max_document_bytes:
        return too_long(len(text), reading.max_document_bytes), None
    return reason, text

"""A plain reader of corpus files, with which tests compare ours: everything in memory, one record after the other."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from unittest import mock

from crayon_hf.corpora import Documents, InputFile, Reading, read_documents
from crayon_hf.text_readers import json_lines, plain_text


class Contents(NamedTuple):
    """The result of reading a file: its documents, and the number and place of each bad record."""

    documents: list[bytes]
    bad: list[tuple[int, int]]


Record = tuple[bytes, bool] | None
"""A record's text (for a bad record its replacement), and whether the record is good. None stands for a record that
does not count, such as a blank line."""


def contents(records: Iterable[Record], policy: str) -> Contents:
    """The result of reading records if bad ones are treated by `policy`, skip or replace."""
    found = Contents([], [])
    for number, record in enumerate(records, 1):
        if record is None:
            continue
        text, good = record
        if not good:
            found.bad.append((number, len(found.documents)))
        if good or policy == "replace":
            found.documents.append(text)
    return found


def json_records(data: bytes, reading: Reading) -> list[Record]:
    """The records of a file of JSON lines."""
    lines = data.split(b"\n")
    return [_json_record(line, reading) for line in (lines if lines[-1] else lines[:-1])]


def _json_record(line: bytes, reading: Reading) -> Record:
    if len(line) > reading.max_document_bytes:
        return b"", False
    plain = line
    while plain.startswith(b"\xef\xbb\xbf"):
        plain = plain[3:]
    if not plain.strip():
        return None
    line = line.removeprefix(b"\xef\xbb\xbf")
    text = line.decode("utf-8", "replace")
    good = text.encode() == line
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return b"", False
    return _row(values, good, reading)


def row_records(rows: Iterable[dict[str, bytes | None]], reading: Reading) -> list[Record]:
    """The records of a table's rows."""
    records = []
    for row in rows:
        values = {name: None if value is None else value.decode("utf-8", "replace") for name, value in row.items()}
        good = all(value is None or values[name].encode() == value for name, value in row.items())  # type: ignore[union-attr]
        size = sum(len(row[name] or b"") for name in re.findall(r"{(\w+)}", reading.template or "{text}"))
        records.append((b"", False) if size > reading.max_document_bytes else _row(values, good, reading))
    return records


def _row(values: Any, good: bool, reading: Reading) -> Record:
    template = reading.template or "{text}"
    if not isinstance(values, dict):
        return b"", False
    text = ""
    for literal, name in re.findall(r"([^{]*)(?:{(\w+)})?", template):
        text += literal
        if name:
            value = values.get(name)
            if not isinstance(value, str):
                return b"", False
            text += value
    whole = re.sub("[\ud800-\udfff]", "\ufffd", text)
    good = good and whole == text
    if good and len(whole.encode()) > reading.max_document_bytes:
        return b"", False
    return whole.encode(), good


def text_records(data: bytes, reading: Reading) -> list[Record]:
    """The records of a text file, which the separator divides."""
    texts = [data] if reading.separator is None else data.split(reading.separator)
    if not texts[-1]:
        texts.pop()
    return [
        (b"", False)
        if len(text) > reading.max_document_bytes
        else (text.decode("utf-8", "replace").encode(), text.decode("utf-8", "ignore").encode() == text)
        for text in texts
    ]


@contextlib.contextmanager
def at_most(records: int | None) -> Iterator[None]:
    """Let our readers make batches of at most `records` records. None keeps the default."""
    with contextlib.ExitStack() as stack:
        for module in () if records is None else (json_lines, plain_text):
            stack.enter_context(mock.patch.object(module, "MOST_RECORDS", records))
        yield


def texts_of(batch: Documents) -> list[bytes]:
    """The documents of a batch."""
    return [bytes(batch.data[begin:end]) for begin, end in zip(batch.begins, batch.ends, strict=True)]


def read(file: InputFile, reading: Reading) -> Contents:
    """The result of our reader, `read_documents`. All batches are kept to the end, so an overwritten batch shows."""
    batches = list(read_documents(file, reading))
    assert [batch.size for batch in batches] == sorted(batch.size for batch in batches)
    assert not batches or batches[-1].size == file.size
    found = Contents([], [])
    for batch in batches:
        texts = texts_of(batch)
        for text in texts:
            text.decode()
        found.bad.extend((bad.number, len(found.documents) + bad.place) for bad in batch.bad)
        found.documents.extend(texts)
    return found

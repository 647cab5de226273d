"""Parquet and Arrow: every way to store strings, cut at every row."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import BadRecordError, CorpusError
from crayon_hf.corpora import InputFile, Reading, find_inputs, read_documents
from crayon_hf.text_readers.arrow_spans import spans_of
from tests.text_readers.reading_reference import at_most, contents, read, row_records, texts_of

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow

KINDS = ["string", "large_string", "string_view", "dictionary", "dictionary of views"]
STORED = ["parquet", "file", "stream", "packed stream"]


def array_of(values: list[bytes | None], kind: str) -> Any:
    """An array that is part of a larger one, which may have what is not UTF-8."""
    if kind.startswith("dictionary"):
        words = list(dict.fromkeys([*values, b"unused"]))
        indices = pa.array([None if value is None else words.index(value) for value in values], pa.int32())
        inner = "string_view" if "views" in kind else "string"
        return pa.DictionaryArray.from_arrays(indices, array_of([word or b"" for word in words], inner))
    binary = pa.array([b"before", *values, b"after"], pa.large_binary() if kind == "large_string" else pa.binary())
    if kind == "string_view":
        binary = binary.cast(pa.binary_view())
    return binary.view(getattr(pa, kind)())[1:-1]


def rows_of(seed: int) -> list[dict[str, bytes | None]]:
    rng = random.Random(seed)
    texts = [
        b"",
        b"one",
        "漢字".encode() * 5,
        b"x" * 90,
        b"bad \xff\xe6\xbc!",
        None,
        b"twelve bytes",
        b"more than 12 bytes",
    ]
    return [{"id": b"%d" % i, "text": rng.choice(texts), "title": rng.choice(texts)} for i in range(90)]


def write(path: Path, rows: list[dict[str, bytes | None]], kind: str, stored: str, size: int) -> InputFile:
    names = list(rows[0]) if rows else ["id", "text", "title"]
    columns = {name: array_of([row[name] for row in rows], kind) for name in names}
    table = pa.table({"number": pa.array(range(len(rows)), pa.int64()), **columns})
    if stored == "parquet":
        parquet.write_table(table, path, row_group_size=size, data_page_size=64)
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd" if stored == "packed stream" else None)
        new = pa.ipc.new_file if stored == "file" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, new(file, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=size)
    (found,) = find_inputs([path])
    return found


@pytest.mark.concurrency
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", STORED)
def test_columns(kind: str, stored: str, tmp_path: Path) -> None:
    rows = rows_of(len(kind) + len(stored))
    path = tmp_path / f"a.{'parquet' if stored == 'parquet' else 'arrow'}"
    try:
        file = write(path, rows, kind, stored, 40)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        pytest.skip(f"pyarrow does not write it: {error}")
    for batch_bytes, most, policy, template in (
        (1, 1000, "skip", None),
        (300, 1000, "replace", None),
        (300, 50, "skip", None),
        (1 << 20, 1000, "replace", None),
        (300, 100, "replace", "{id}. {title}\n{text}{title}"),
        (1 << 20, 1000, "skip", "{id}. {title}\n{text}"),
    ):
        reading = Reading(
            template=template, batch_bytes=batch_bytes, max_document_bytes=most, bad_records=policy, threads=1
        )
        wanted = [{name: row[name] for name in reading.columns} for row in rows]
        for records in (None, 5) if batch_bytes > 300 else (None,):
            with at_most(records):
                assert read(file, reading, every=9) == contents(row_records(wanted, reading), policy)
    with pytest.raises(BadRecordError, match=rf"{path.name}, row \d+: 'text' is"):
        list(read_documents(file, Reading()))


def test_many_rows(tmp_path: Path) -> None:
    """More than are read at once; row groups and record batches of all sizes, empty ones, too."""
    rows: list[dict[str, bytes | None]] = [{"text": b"%d" % i * (i % 5)} for i in range(5000)]
    for stored in ("parquet", "file", "stream"):
        for size in (5000, 1024, 999):
            path = tmp_path / ("a.parquet" if stored == "parquet" else "a.arrow")
            for batch_bytes in (5000, 50_000, 1 << 24):
                file = write(path, rows, "string", stored, size)
                found = read(file, Reading(batch_bytes=batch_bytes), every=5)
                assert found.documents == [row["text"] for row in rows]
    table = pa.table({"text": pa.array(["a", "b"])})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        for part in (table[:0], table[:1], table[:0], table[1:], table[:0]):
            writer.write_table(part) if len(part) else writer.write_batch(pa.RecordBatch.from_pylist([], table.schema))
    batches = read_documents(find_inputs([path])[0], Reading())
    assert [text for batch in batches for text in texts_of(batch)] == [b"a", b"b"]


def test_no_rows(tmp_path: Path) -> None:
    for stored in STORED:
        file = write(tmp_path / f"a.{'parquet' if stored == 'parquet' else 'arrow'}", [], "string", stored, 10)
        assert list(read_documents(file, Reading())) == []


@pytest.mark.parametrize("stored", STORED)
def test_what_is_wrong_with_a_file(stored: str, tmp_path: Path) -> None:
    """The column, and every cut of the file."""
    path = tmp_path / f"a.{'parquet' if stored == 'parquet' else 'arrow'}"
    rows: list[dict[str, bytes | None]] = [{"text": b"text %d" % i, "id": b"x"} for i in range(60)]
    file = write(path, rows, "string", stored, 20)
    for reading, message in (
        (Reading(column="no"), "has no column 'no'; it has 'number', 'text', 'id'"),
        (Reading(template="{text}{no}"), "has no column 'no'"),
        (Reading(column="number"), "column 'number' is int64, expected string"),
    ):
        with pytest.raises(CorpusError, match=rf"{path.name}:? {message}"):
            list(read_documents(file, reading))
    whole = path.read_bytes()
    step = max(1, len(whole) // 100)
    ends_well, messages = [], []
    for size in [*range(0, len(whole), step), len(whole) - 9, len(whole) - 1]:
        path.write_bytes(whole[:size])
        (cut,) = find_inputs([path])
        try:
            texts = [text for batch in read_documents(cut, Reading()) for text in texts_of(batch)]
        except CorpusError as error:
            messages.append(str(error))
        else:
            ends_well.append((size, len(texts)))
    assert all(path.name in message for message in messages)
    # A stream may end without its mark of the end, but only behind a record batch; nothing else is whole.
    assert all("stream" in stored and texts % 20 == 0 for _, texts in ends_well)
    path.write_bytes(whole + b"more of it")
    with pytest.raises(CorpusError, match=path.name):
        list(read_documents(find_inputs([path])[0], Reading()))


def test_two_columns_of_a_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(CorpusError, match="more than one column 'text'"):
        list(read_documents(find_inputs([tmp_path])[0], Reading()))


def test_names_with_dots(tmp_path: Path) -> None:
    """A column ``a.b`` is not a part of a column ``a``."""
    table = pa.table({"a": [{"b": "inner"}], "a.b": ["own"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    for file in find_inputs([tmp_path]):
        assert read(file, Reading(column="a.b")).documents == [b"own"]


def test_damaged_offsets(tmp_path: Path) -> None:
    """What lies beyond the buffers is never read: offsets and indices of a file are whatever somebody wrote."""
    path = tmp_path / "a.arrow"
    for array, numbers, others in (
        (
            pa.array(["ab", "cd", "ef"]),
            [0, 2, 4, 6],
            [[0, 5, 3, 6], [0, 2, 4, 7], [-1, 2, 4, 6], [0, 1 << 30, 4, 6], [6, 4, 2, 0], [0, 2, 4, 1 << 30]],
        ),
        (
            pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1], pa.int32()), pa.array(["ab", "cd"])),
            [1, 0, 1, 1],
            [[1, 0, 2, 1], [1, -1, 1, 1], [1, 0, 1, 1 << 30]],
        ),
    ):
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            table = pa.table({"text": array})
            with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
                writer.write_table(table)
            assert len(read(find_inputs([path])[0], Reading()).documents) == len(array)
            whole = path.read_bytes()
            pattern = struct.pack("<4i", *numbers)
            assert whole.count(pattern) == 1
            for damaged in others:
                path.write_bytes(whole.replace(pattern, struct.pack("<4i", *damaged)))
                with pytest.raises(CorpusError, match=r"a\.arrow: (column 'text' is damaged|no readable Arrow file): "):
                    list(read_documents(find_inputs([path])[0], Reading(bad_records="skip")))


def test_columns_without_strings() -> None:
    with pytest.raises(CorpusError, match=re.escape("is list<item: string>, expected string")):
        spans_of(pa.array([["a"]]))
    with pytest.raises(CorpusError, match="is binary, expected string; cast it"):
        spans_of(pa.array([b"a"]))


def test_a_large_dictionary_of_which_little_is_used(tmp_path: Path) -> None:
    words = [f"word {i} " * 10 for i in range(3000)]
    indices = pa.array([(i * 7) % 3000 for i in range(2000)], pa.int32())
    table = pa.table({"text": pa.DictionaryArray.from_arrays(indices, pa.array(words))})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    expected = [words[(i * 7) % 3000].encode() for i in range(2000)]
    for batch_bytes in (1000, 1 << 20):
        batches = list(read_documents(find_inputs([tmp_path])[0], Reading(batch_bytes=batch_bytes)))
        assert [text for batch in batches for text in texts_of(batch)] == expected
        assert all(len(batch.begins) == 1 or len(batch.data) < 400_000 for batch in batches)


def test_pages_with_checksums(tmp_path: Path) -> None:
    """Where a file says what its bytes should be, other bytes are never another text."""
    path = tmp_path / "a.parquet"
    texts = [f"text {i} é " * (i % 9) for i in range(300)]
    parquet.write_table(pa.table({"text": texts}), path, row_group_size=100, write_page_checksum=True)
    whole = path.read_bytes()
    footer = struct.unpack("<i", whole[-8:-4])[0] + 8
    noticed = 0
    for place in random.Random(5).sample(range(4, len(whole) - footer), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        path.write_bytes(damaged)
        try:
            found = [text for batch in read_documents(find_inputs([path])[0], Reading()) for text in texts_of(batch)]
        except CorpusError:
            noticed += 1
        else:
            assert [text.decode() for text in found] == texts
    assert noticed > 30


@pytest.mark.parametrize("stored", STORED)
def test_a_file_that_changes(stored: str, tmp_path: Path) -> None:
    """Written to while it is read. (A mapped file that is cut is the end of the process: only parquet is cut here.)"""
    path = tmp_path / f"a.{'parquet' if stored == 'parquet' else 'arrow'}"
    rows: list[dict[str, bytes | None]] = [{"text": b"text %d" % i} for i in range(3000)]
    for change in ("grown", "cut") if stored == "parquet" else ("grown",):
        batches = read_documents(write(path, rows, "string", stored, 1000), Reading(batch_bytes=1000))
        next(batches)
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size + (1 if change == "grown" else -5000))
        with pytest.raises(CorpusError, match=path.name):
            list(batches)
    file_found = write(path, rows, "string", stored, 1000)
    write(path, rows[:-1], "string", stored, 1000)
    with pytest.raises(CorpusError, match=rf"{path.name} has changed since it was found"):
        list(read_documents(file_found, Reading()))

"""Reading columns of Parquet and Arrow files: every representation of strings, in batches cut at every row."""

from __future__ import annotations

import contextlib
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import BadRecordError, CorpusError
from crayon_hf.corpora import InputFile, Reading, find_inputs, read_documents
from tests.text_readers.reading_reference import at_most, contents, read, row_records, texts_of

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow

KINDS = ["string", "large_string", "string_view", "dictionary", "dictionary of views"]
STORED = ["parquet", "file", "stream", "packed stream"]


def array_of(values: list[bytes | None], kind: str) -> Any:
    """An Arrow array of these values. It is a slice of a larger array, which may have invalid UTF-8 elsewhere."""
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
                assert read(file, reading) == contents(row_records(wanted, reading), policy)
    with pytest.raises(BadRecordError, match=rf"{path.name}, row \d+: 'text' is"):
        list(read_documents(file, Reading()))


def test_many_rows(tmp_path: Path) -> None:
    """A file has more rows than are read at once, in row groups or record batches of all sizes, some empty."""
    rows: list[dict[str, bytes | None]] = [{"text": b"%d" % i * (i % 5)} for i in range(5000)]
    for stored in STORED[:3]:
        path = tmp_path / ("a.parquet" if stored == "parquet" else "a.arrow")
        for size, batch_bytes in ((5000, 5000), (1024, 1 << 24), (999, 50_000)):
            file = write(path, rows, "string", stored, size)
            assert read(file, Reading(batch_bytes=batch_bytes)).documents == [row["text"] for row in rows]
        assert list(read_documents(write(path, [], "string", stored, 10), Reading())) == []
    schema = pa.schema([("text", pa.string())])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for part in ([], ["a"], [], ["b"], []):
            writer.write_batch(pa.record_batch([pa.array(part, pa.string())], schema=schema))
    batches = read_documents(find_inputs([path])[0], Reading())
    assert [text for batch in batches for text in texts_of(batch)] == [b"a", b"b"]


def test_names(tmp_path: Path) -> None:
    """The name ``a.b`` means a column ``a.b``, not a field of a column ``a``. If two columns have one name, reading it
    is an error."""
    table = pa.table({"a": [{"b": "inner"}], "a.b": ["own"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    for name, each in (("b.arrow", table), ("c.arrow", twice)):
        with pa.OSFile(str(tmp_path / name), "wb") as file, pa.ipc.new_stream(file, each.schema) as writer:
            writer.write_table(each)
    for file in find_inputs([tmp_path / "a.parquet", tmp_path / "b.arrow"]):
        assert read(file, Reading(column="a.b")).documents == [b"own"]
    with pytest.raises(CorpusError, match="more than one column 'text'"):
        list(read_documents(find_inputs([tmp_path / "c.arrow"])[0], Reading()))


@pytest.mark.parametrize("stored", STORED)
def test_what_is_wrong_with_a_file(stored: str, tmp_path: Path) -> None:
    """Reading is an error if the column is missing, or if the file is cut anywhere."""
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
    for size in [*range(0, len(whole), max(1, len(whole) // 100)), len(whole) - 9, len(whole) - 1]:
        path.write_bytes(whole[:size])
        texts: list[bytes] = []
        with contextlib.suppress(CorpusError):
            texts = read(find_inputs([path])[0], Reading()).documents
        # A stream may end without its end marker, but only after a record batch.
        assert not texts or ("stream" in stored and len(texts) % 20 == 0)
    path.write_bytes(whole + b"more of it")
    with pytest.raises(CorpusError, match=path.name):
        list(read_documents(find_inputs([path])[0], Reading()))


def test_damaged_offsets(tmp_path: Path) -> None:
    """A damaged file may have any offsets and indices: memory beyond the buffers is never read."""
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
                with pytest.raises(CorpusError, match=r"a\.arrow: "):
                    list(read_documents(find_inputs([path])[0], Reading(bad_records="skip")))


def test_pages_with_checksums(tmp_path: Path) -> None:
    """If a Parquet file's pages have checksums, changed bytes never become another text."""
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

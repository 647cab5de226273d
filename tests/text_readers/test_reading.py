"""Reading text files and JSON lines, plain and compressed: documents and bad records equal those of the plain
reader."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import BadRecordError, CorpusError
from crayon_hf.corpora import InputFile, Reading, find_inputs, read_documents
from crayon_hf.text_readers.batches import MOST_RECORDS
from crayon_hf.text_readers.files import check_files
from tests.text_readers.reading_reference import Contents, at_most, contents, json_records, read, text_records, texts_of


def _zstandard(data: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    ".zst": _zstandard,
}
QUICK = [
    packing if packing in ("", ".gz", ".xz") else pytest.param(packing, marks=pytest.mark.slow) for packing in PACKERS
]
MEMBERS = [packing for packing in PACKERS if packing not in ("", ".lzma")]  # these formats can be concatenated

POLICIES = ["skip", "replace"]

LINES = [
    b'{"text": "one"}',
    b'{"id": 1, "text": "zw\xc3\xb6lf \\u00e9\\n", "title": "t"}',
    '{"title": "漢字", "text": "\\ud83d\\ude42 🙂"}'.encode(),
    b'{"text": ""}',
    b"",
    b" \t \r",
    b"\x0b\x0c",
    b'\xef\xbb\xbf{"text": "BOM", "title": ""}',
    b"\xef\xbb\xbf",
    b'{"text": "CRLF", "title": "x"}\r',
    b'{"text": null}',
    b'{"text": 5}',
    b'{"text": ["a"], "title": "x"}',
    b'{"other": "text"}',
    b'["text"]',
    b'"text"',
    b"{",
    b'{"text": "open',
    b'{"text": "a"} {"text": "b"}',
    b'{"text": "a\tb"}',
    b'{"text": "bad \xff\xe6\xbc!", "title": "t"}',
    b'{"text": "fine", "title": "\xe2\x82"}',
    b'\xff{"text": "a"}',
    b'{"text": "lone \\ud800!", "title": "\\udc00\\ud83d"}',
    b'{"text": NaN, "title": "x"}',
    b'{"x": NaN, "text": "with NaN", "title": "x"}',
    b'{"text": "first", "text": "last", "title": "x"}',
    b'{"te\\u0078t": "by another name", "title": "x"}',
    b'{"x": ' + b"[" * 3000 + b"]" * 3000 + b', "text": "deep", "title": "x"}',
    b'{"x": ' + b"7" * 5000 + b', "text": "long number", "title": "x"}',
    b'{"text": "' + b"long " * 40 + b'", "title": "x"}',
    b'{"text": "' + b"\\u6f22" * 40 + b'", "title": "x"}',
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


def file_of(directory: Path, name: str, data: bytes) -> InputFile:
    path = directory / name
    path.write_bytes(data)
    (file,) = find_inputs([path])
    return file


@pytest.mark.concurrency
@given(
    lines=st.lists(st.sampled_from(LINES), max_size=30),
    ending=st.sampled_from([b"", b"\n", b"\n\n"]),
    batch_bytes=st.integers(1, 400) | st.just(1 << 20),
    most=st.integers(1, 300) | st.just(1 << 20),
    policy=st.sampled_from(POLICIES),
    template=st.sampled_from([None, None, "{title}: {text}", "{text}{text}!"]),
    packing=st.sampled_from(["", "", ".gz", ".lzma"]),
    records=st.sampled_from([None, 1, 2, 7]),
)
@settings(max_examples=250, deadline=None)
def test_json_lines(
    directory: Path,
    lines: list[bytes],
    ending: bytes,
    batch_bytes: int,
    most: int,
    policy: str,
    template: str | None,
    packing: str,
    records: int | None,
) -> None:
    data = b"\n".join(lines) + ending
    file = file_of(directory, f"some.jsonl{packing}", PACKERS[packing](data))
    reading = Reading(
        template=template, batch_bytes=batch_bytes, max_document_bytes=most, bad_records=policy, threads=1
    )
    with at_most(records):
        assert read(file, reading) == contents(json_records(data, reading), policy)


@pytest.mark.concurrency
@given(
    pieces=st.lists(
        st.sampled_from([b"a", b"b", b"aa", b"ab", "é漢🙂".encode(), b"\xff", b"\xe6\xbc", b"\r\n", b"x" * 40])
    ),
    separator=st.sampled_from([None, b"a", b"aa", b"aba", b"aab", b"\n", b"\r\n", b"\x00", b"\xbc\x97"]),
    batch_bytes=st.integers(1, 50) | st.just(1 << 20),
    most=st.integers(1, 60) | st.just(1 << 20),
    policy=st.sampled_from(POLICIES),
    packing=st.sampled_from(["", "", ".bz2", ".xz"]),
    records=st.sampled_from([None, 1, 2, 7]),
)
@settings(max_examples=250, deadline=None)
def test_text(
    directory: Path,
    pieces: list[bytes],
    separator: bytes | None,
    batch_bytes: int,
    most: int,
    policy: str,
    packing: str,
    records: int | None,
) -> None:
    data = b"".join(pieces)
    file = file_of(directory, f"some.txt{packing}", PACKERS[packing](data))
    reading = Reading(
        separator=separator, batch_bytes=batch_bytes, max_document_bytes=most, bad_records=policy, threads=1
    )
    with at_most(records):
        assert read(file, reading) == contents(text_records(data, reading), policy)


@pytest.mark.parametrize("packing", QUICK)
def test_packings(packing: str, tmp_path: Path) -> None:
    """Compressed files larger than one unpacking step, and of several concatenated members, are read whole."""
    rows = [f"漢字 and more {i} " * (i % 50) for i in range(4000)]
    lines = [json.dumps({"text": row}, ensure_ascii=i % 2 == 0).encode() + b"\n" for i, row in enumerate(rows)]
    data = b"".join(lines)
    packed = PACKERS[packing](data)
    versions = [packed]
    if packing in MEMBERS:
        empty = PACKERS[packing](b"")
        versions.append(empty + PACKERS[packing](data[:777]) + empty + PACKERS[packing](data[777:]) + empty)
    if packing in (".gz", ".xz", ".lzma"):
        versions.append(packed + b"\0" * 512)
    for version in versions:
        file = file_of(tmp_path, f"a.jsonl{packing}", version)
        for batch_bytes in (100_000, 16 << 20):
            found = read(file, Reading(batch_bytes=batch_bytes))
            assert found == Contents([row.encode() for row in rows], [])


@pytest.mark.parametrize("packing", QUICK[1:])
def test_damaged_files(packing: str, tmp_path: Path) -> None:
    """If a compressed file is cut anywhere, or other bytes follow it, no document is lost silently."""
    data = b"".join(b'{"text": "%d"}\n' % (i * i * i) for i in range(300))
    packed = PACKERS[packing](data)
    damaged = [packed[:size] for size in range(len(packed))]
    damaged += [packed + b"more", packed + packed[:-1], b"not packed", packed[:-40] + b"\x55" * 20 + packed[-20:]]
    reading = Reading(bad_records="skip")  # damage is not a bad record
    for version in damaged:
        file = file_of(tmp_path, f"a.jsonl{packing}", version)
        with pytest.raises(CorpusError, match=rf"a\.jsonl{packing}: damaged \{packing} file: ") as error:
            list(read_documents(file, reading))
        assert not isinstance(error.value, BadRecordError)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "format='text'"),
        (b"[1]", "JSON list"),
        (b'{"a": 1, "b": 2}', r"has no 'text'; it has 'a', 'b'"),
        (b'{"text": null}', r"'text' is None, expected str"),
        (b'{"text": 5}', r"'text' is int, expected str"),
        (b'{"text": "\xff"}', r"is not UTF-8: invalid byte at offset 10 of the line"),
        (b'{"text": "\\ud800"}', r"'text' has a lone surrogate, which is not valid text"),
        (b"[" * 100_000, r"is not JSON: "),
        (b'{"text": "' + b"x" * 200_000 + b'"}', r"has 200012 bytes, more than max_document_bytes \(150000\)"),
    ],
    ids=["syntax", "list", "member", "null", "number", "bytes", "surrogate", "deep", "long"],
)
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_bad_lines(line: bytes, message: str, packing: str, tmp_path: Path) -> None:
    """For each kind of bad line and each policy, the reader reports the line's number, its place, and the reason."""
    data = b'{"text": "one"}\n\n\n' + line + b'\n{"text": "two"}'
    file = file_of(tmp_path, f"bad.jsonl{packing}", PACKERS[packing](data))
    for batch_bytes in (5, 40, 1 << 20):
        reading = Reading(batch_bytes=batch_bytes, max_document_bytes=150_000)
        with pytest.raises(BadRecordError, match=rf"bad\.jsonl{packing}, line 4: .*{message}"):
            list(read_documents(file, reading))
        for policy, expected in (("skip", [b"one", b"two"]), ("replace", [b"one", None, b"two"])):
            batches = list(read_documents(file, reading._replace(bad_records=policy)))
            texts = [text for batch in batches for text in texts_of(batch)]
            replacement = b"" if b"\xff" not in line and b"ud800" not in line else "\ufffd".encode()
            assert texts == [replacement if text is None else text for text in expected]
            (bad,) = (bad for batch in batches for bad in batch.bad)
            assert (bad.address, bad.number, bad.what) == (file.address, 4, "line")
            with pytest.raises(BadRecordError, match=rf"line 4: .*{message}"):
                raise bad.error()


def test_every_document_at_the_limit(tmp_path: Path) -> None:
    """A document of the maximum size is allowed, wherever a block of the file ends."""
    for batch_bytes in range(1, 40):
        for most, expected in ((9, [b"x" * 9, b"y"]), (8, [b"y"])):
            reading = Reading(separator=b"--", batch_bytes=batch_bytes, max_document_bytes=most, bad_records="skip")
            for data in (b"x" * 9 + b"--y", b"y--" + b"x" * 9, b"y--" + b"x" * 9 + b"--"):
                found = read(file_of(tmp_path, "a.txt", data), reading)
                assert sorted(found.documents) == sorted(expected)
    line = b'{"text": "twenty-three"}'
    for batch_bytes in range(1, 60, 7):
        for most, bad in ((len(line), []), (len(line) - 1, [(1, 0), (3, 0)])):
            reading = Reading(batch_bytes=batch_bytes, max_document_bytes=most, bad_records="skip")
            for data in (line + b"\n\n" + line + b"\n", line + b"\n\n" + line):
                assert read(file_of(tmp_path, "a.jsonl", data), reading).bad == bad


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.jsonl.gz"])
def test_a_file_that_changes(name: str, tmp_path: Path) -> None:
    """A file that changes before or during reading is an error."""
    reading = Reading(separator=b"\n", batch_bytes=100)

    def version(count: int) -> bytes:
        return PACKERS[".gz" if name.endswith("gz") else ""](b'{"text": "a%d"}\n' % count * count)

    file = file_of(tmp_path, name, version(1000))
    path = Path(file.address)
    for change in (version(999), version(1500), b""):
        path.write_bytes(version(1000))
        os.utime(path, ns=(int(file.mark), int(file.mark)))
        batches = read_documents(file, reading)
        next(batches)
        path.write_bytes(change)
        with pytest.raises(CorpusError, match=name):
            list(batches)
        with pytest.raises(CorpusError, match="has changed since it was found"):
            list(read_documents(file, reading))
    path.write_bytes(version(1000))
    os.utime(path, ns=(1, 1))
    with pytest.raises(CorpusError, match="written to"):
        list(read_documents(file, reading))


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"format": "xml"}, ValueError, "format"),
        ({"bad_records": "ignore"}, ValueError, "bad_records"),
        ({"batch_bytes": 0}, ValueError, "batch_bytes"),
        ({"max_document_bytes": -1}, OverflowError, "max_document_bytes"),
        ({"threads": "2"}, TypeError, "threads"),
        ({"separator": b""}, ValueError, "separator"),
        ({"separator": "\n"}, ValueError, "separator"),
        ({"separator": b"\n", "format": "jsonl"}, ValueError, "separator"),
        ({"column": 1}, TypeError, "column"),
        ({"column": "body", "format": "text"}, ValueError, "column"),
        ({"template": "{a"}, ValueError, "expected '}'"),
        ({"template": "{}"}, ValueError, "between braces"),
        ({"template": "{a!r}"}, ValueError, "between braces"),
        ({"template": "{a:>9}"}, ValueError, "between braces"),
        ({"template": "a {{b}}"}, ValueError, "names no column"),
        ({"template": "{text}", "format": "text"}, ValueError, "template"),
    ],
)
def test_settings_that_make_no_sense(
    setting: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        read_documents(InputFile("a.jsonl", 0), Reading(**setting))


def test_settings_and_the_files_that_they_are_for(tmp_path: Path) -> None:
    """`check_files` decides by names only whether settings apply to files: none of these files exists."""
    text, lines, other = (InputFile(name, 1) for name in ("a.txt.gz", "b.jsonl", "z.bin"))
    check_files([text, lines], Reading(separator=b"\n", column="body"))
    check_files([text], Reading(separator=b"\n"))
    check_files([lines], Reading(template="{a}{b}"))
    check_files([InputFile("a", 1)], Reading(format="text", separator=b"\n"))
    for files, reading, message in (
        ([lines], Reading(separator=b"\n"), "separator is for text files"),
        ([text], Reading(column="body"), "column 'body' is for files with columns"),
        ([lines, text], Reading(template="{a}"), r"a\.txt\.gz: a template"),
        ([lines, other], Reading(), r"z\.bin: the name has no known ending"),
        ([InputFile("c.parquet.gz", 1)], Reading(), "unpack it first"),
    ):
        with pytest.raises(CorpusError, match=message):
            check_files(files, reading)


def test_templates(tmp_path: Path) -> None:
    rows = [{"a.b": "x", "c d": "{y}", "": "z"}, {"c d": "", "a.b": "é"}]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    file = file_of(tmp_path, "a.jsonl", data)
    found = read(file, Reading(template="{{{c d}}}\n{a.b}{c d}é")).documents
    assert [text.decode() for text in found] == ["{{y}}\nx{y}é", "{}\néé"]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "bad.txt", "bad.jsonl"])
def test_very_short_records(name: str, tmp_path: Path) -> None:
    """The size of a batch is limited in bytes and records, because each record takes memory."""
    data = (b"\xff\n" if name.startswith("bad") else b"\n" if name.endswith("txt") else b'{"text":""}\n') * 300_000
    bad = 300_000 if name.startswith("bad") else 0
    reading = Reading(separator=b"\n" if name.endswith("txt") else None, bad_records="skip")
    documents = found = 0
    for batch in read_documents(file_of(tmp_path, name, data), reading):
        assert len(batch.begins) + len(batch.bad) <= MOST_RECORDS
        documents += len(batch.begins)
        found += len(batch.bad)
    assert documents + found == data.count(b"\n")
    assert found == bad


def test_a_batch_stays_as_it_is(tmp_path: Path) -> None:
    """The documents of a batch stay the same while later batches are read."""
    data = b"".join(b'{"text": "%d"}\n' % i * 1 for i in range(20_000))
    batches = read_documents(file_of(tmp_path, "a.jsonl", data), Reading(batch_bytes=10_000))
    held = [(batch, texts_of(batch)) for batch in batches]
    assert len(held) > 20
    assert all(texts_of(batch) == texts for batch, texts in held)

"""Every kind of source gives the same texts, and says where it is wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import CorpusError, InvalidUtf8Error, train_bpe
from crayon_hf.training_data import batches as batching
from crayon_hf.training_data import corpus as corpora
from crayon_hf.training_data import files
from crayon_hf.training_data.corpus import corpus_of

ROWS = ["one two\n", "drei\r\nvier", "", "漢字 🙂", 'quo"te\\', "x" * 50]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
}


def texts(source: Any, **how: Any) -> list[str]:
    return list(corpus_of(source, **how).texts())


def json_lines(rows: list[Any], column: str = "text") -> bytes:
    return b"".join(json.dumps({"id": i, column: row}).encode() + b"\n" for i, row in enumerate(rows))


@pytest.fixture(params=[1, 7, batching.BATCH])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Batches of all sizes give the same."""
    monkeypatch.setattr(corpora, "BATCH", request.param)
    monkeypatch.setattr(files, "BATCH", request.param)
    return int(request.param)


def test_texts_of_python(batches: int) -> None:
    assert texts(ROWS) == texts(iter(ROWS)) == texts([ROWS[:2], ROWS[2:]]) == texts(row for row in ROWS) == ROWS
    assert texts([]) == texts([[]]) == []
    assert texts(io.StringIO("a\nb")) == ["a\n", "b"]
    with pytest.raises(TypeError, match=r"text 2 is dict, expected str: .*row\['text'\]"):
        texts(["a", ["b"], {"text": "c"}])


@pytest.mark.parametrize("packing", PACKERS)
def test_lines_of_a_text_file(packing: str, batches: int, tmp_path: Path) -> None:
    for data in (b"", b"\n", b"a", b"a\nb", "a\r\nb\rc\n\n漢\u2028字\n".encode() * 3, b"x" * 100 + b"\n"):
        path = tmp_path / f"corpus.txt{packing}"
        path.write_bytes(PACKERS[packing](data))
        expected = [line.decode() for line in io.BytesIO(data)]
        assert texts(path) == texts(str(path)) == texts([path]) == expected
        assert texts(iter([path, "more", path])) == [*expected, "more", *expected]


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".JSONL", ".json"])
def test_json_lines(packing: str, ending: str, tmp_path: Path, batches: int) -> None:
    path = tmp_path / f"corpus{ending}{packing}"
    path.write_bytes(PACKERS[packing](b"\xef\xbb\xbf" + json_lines([*ROWS, None]) + b"\n  \n" + json_lines(["end"])))
    assert texts(path) == [*ROWS, "end"]
    path.write_bytes(PACKERS[packing](json_lines(ROWS, "content")))
    assert texts(path, column="content") == ROWS
    assert len(texts(path, format="text")) == len(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["frame", "two frames"])
def test_zstandard(version: str, tmp_path: Path) -> None:
    pack = getattr(pytest.importorskip("zstandard"), "compress")  # noqa: B009 - it has no types
    data = "a\n漢字\n".encode() * 10
    path = tmp_path / "corpus.txt.zst"
    path.write_bytes(pack(data) if version == "frame" else pack(data[:20]) + pack(data[20:]))
    assert texts(path) == [line.decode() for line in io.BytesIO(data)]
    path.write_bytes(pack(data)[:-3] + b"xxx")
    with pytest.raises(CorpusError, match=r"damaged \.zst"):
        texts(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_columns(kind: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    types = {"string": arrow.string(), "large_string": arrow.large_string()}
    column = arrow.array([*ROWS, None], types.get(kind, arrow.string()))
    if kind == "dictionary":
        column = column.dictionary_encode()
    table = arrow.table({"id": range(len(column)), "text": column})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    with arrow.OSFile(str(tmp_path / "file.arrow"), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    with arrow.OSFile(str(tmp_path / "stream.arrow"), "wb") as file, arrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    for name in ("a.parquet", "file.arrow", "stream.arrow"):
        assert texts(tmp_path / name) == ROWS
        with pytest.raises(CorpusError, match=rf"{name} has no column 'no'; it has 'id', 'text'"):
            texts(tmp_path / name, column="no")
        with pytest.raises(CorpusError, match=rf"{name}: column 'id' is int64, expected string"):
            texts(tmp_path / name, column="id")
        (tmp_path / f"bad-{name}").write_bytes(b"nothing of the kind")
        with pytest.raises(CorpusError, match=rf"bad-{name}: not a readable"):
            texts(tmp_path / f"bad-{name}")
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    with pytest.raises(CorpusError, match="it holds a parquet file"):
        texts(tmp_path / "a.parquet.gz")


@pytest.mark.slow
def test_columns_that_are_not_utf8(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    offsets, data = arrow.array([0, 1, 2, 3], arrow.int32()).buffers()[1], arrow.py_buffer(b"a\xffb")
    column = arrow.Array.from_buffers(arrow.string(), 3, [None, offsets, data])
    parquet.write_table(arrow.table({"text": column}), tmp_path / "a.parquet")
    with pytest.raises(InvalidUtf8Error, match=r"a\.parquet: row 1 of 'text'"):
        texts(tmp_path / "a.parquet")


@pytest.mark.parametrize("packing", PACKERS)
def test_records_that_are_wrong(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"bad.jsonl{packing}"
    cases: list[tuple[bytes, type[Exception], str]] = [
        (b"{", CorpusError, "is not JSON: .*format='text'"),
        (b"[1]", CorpusError, "is a JSON list, expected an object with 'text'"),
        (b'{"a": 1}', CorpusError, "has no 'text'; it has 'a'"),
        (b'{"text": 5}', CorpusError, "'text' is int, expected str"),
        (b'{"text": "\xff"}', InvalidUtf8Error, "is not UTF-8: invalid byte at offset 10"),
        (b"[" * 100_000, CorpusError, "is not JSON"),
        (b'{"text": "\\ud800"}', CorpusError, "'text' has a lone surrogate"),
    ]
    for line, error, message in cases:
        path.write_bytes(PACKERS[packing](json_lines(["ok", "ok"]) + b"\n" + line + b"\n"))
        with pytest.raises(
            error, match=rf"bad\.jsonl{packing}, line 4:? .*{message}".replace(" .*'text' is", " 'text' is")
        ):
            texts(path)
        with pytest.raises(error, match="line 4"):
            train_bpe(path)


@pytest.mark.parametrize("packing", PACKERS)
def test_text_that_is_not_utf8(packing: str, tmp_path: Path, batches: int) -> None:
    path = tmp_path / f"bad.txt{packing}"
    path.write_bytes(PACKERS[packing](b"ok\n\nok\xc3\xa9\xe6\xbc\n"))
    with pytest.raises(InvalidUtf8Error, match=rf"bad\.txt{packing}, line 3 .* offset 4"):
        texts(path)
    with pytest.raises(InvalidUtf8Error, match=rf"bad\.txt{packing}, line 3 .* offset 4"):
        train_bpe(path)


@pytest.mark.parametrize("packing", list(PACKERS)[1:])
def test_damaged_files(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus.txt{packing}"
    whole = PACKERS[packing](os.urandom(3000).hex().encode())
    for data in (b"this is not packed", whole[: len(whole) // 2]):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=rf"corpus\.txt{packing}: damaged \{packing}"):
            texts(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """Found out before anything is read."""
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(FileNotFoundError, match="nope"):
        corpus_of([tmp_path / "a", tmp_path / "nope"])
    with pytest.raises(FileNotFoundError, match="some text"):
        corpus_of("some text")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="empty: no file there"):
        corpus_of(tmp_path / "empty")
    with pytest.raises(ValueError, match="format is 'xml', expected one of text, jsonl, csv, tsv, parquet, arrow"):
        corpus_of(tmp_path / "a", format="xml")


def test_streams(tmp_path: Path, batches: int) -> None:
    data = "a\nlonger than a batch\n漢字".encode()
    assert texts(io.BytesIO(data)) == ["a\n", "longer than a batch\n", "漢字"]
    assert texts(io.BytesIO(json_lines(ROWS)), format="jsonl") == ROWS
    with pytest.raises(ValueError, match="format is 'parquet'"):
        texts(io.BytesIO(b""), format="parquet")
    with pytest.raises(InvalidUtf8Error, match="the stream, line 2"):
        texts(io.BytesIO(b"a\n\xff"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="mkfifo")
def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"a\nb\n"))
    writer.start()
    try:
        assert texts(path) == ["a\n", "b\n"]
    finally:
        writer.join()


def test_how_far_it_is(tmp_path: Path, batches: int) -> None:
    """Bytes of the files, packed or not; items of an iterable."""
    (tmp_path / "a.txt").write_bytes(b"a\nb\n" * 9)
    (tmp_path / "b.jsonl").write_bytes(json_lines(ROWS))
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"abc\n" * 99))
    corpus = corpus_of([tmp_path / name for name in ("a.txt", "b.jsonl", "c.txt.gz")])
    assert corpus.total == sum(path.stat().st_size for path in tmp_path.iterdir())
    done = [batch.done for batch in corpus.batches]
    assert done == sorted(done)
    assert done[-1] == corpus.total
    corpus = corpus_of(iter(ROWS), length=len(ROWS))
    assert corpus.total == [batch.done for batch in corpus.batches][-1] == len(ROWS)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An iterable is never ahead of its use by more than a batch."""
    monkeypatch.setattr(corpora, "BATCH", 100)
    given = 0

    def endless() -> Any:
        nonlocal given
        while True:
            given += 1
            yield "0123456789"

    batches = corpus_of(endless()).batches
    for count in range(1, 5):
        assert len(next(batches).texts) == 10  # type: ignore[union-attr]
        assert given == 10 * count

"""Every kind of source to train on (texts, files, streams) gives the same texts, and its errors name the place."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf.errors import CorpusError, InvalidUtf8Error
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
    """The size of the batches in which texts are read, in turn small and large; the texts must stay the same."""
    monkeypatch.setattr(corpora, "BATCH", request.param)
    monkeypatch.setattr(files, "BATCH", request.param)
    return int(request.param)


@pytest.mark.parametrize("of_kind", [list, tuple])
def test_names_of_files_in_the_place_of_texts(of_kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of paths as str is refused: `train_bpe` would learn the letters of the paths."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("low lower lowest " * 9)
    names = ["a.txt", str(tmp_path / "b.txt")]
    for kind in ("bpe", "unigram", "wordpiece", "wordlevel"):
        with pytest.raises(ValueError, match="Path"):
            getattr(crayon_hf, f"train_{kind}")(of_kind(names))
    assert texts(iter(names)) == names
    assert texts(of_kind(Path(name) for name in names)) == ["low lower lowest " * 9] * 2
    for other in (["a.txt", "no file"], ["a.txt\n"], ["", "a.txt"], ["\0"], [str(tmp_path)], ["a.txt" * 2000]):
        assert texts(of_kind(other)) == other


def test_texts_of_python(batches: int) -> None:
    assert texts(ROWS) == texts(iter(ROWS)) == texts([ROWS[:2], ROWS[2:]]) == texts(row for row in ROWS) == ROWS
    assert texts([]) == texts([[]]) == []
    assert texts(io.StringIO("a\nb")) == ["a\n", "b"]
    with pytest.raises(TypeError, match="text 2"):
        texts(["a", ["b"], {"text": "c"}])


@pytest.mark.parametrize("packing", PACKERS)
def test_lines_of_a_text_file(packing: str, batches: int, tmp_path: Path) -> None:
    for data in (b"", b"\n", b"a", b"a\nb", "a\r\nb\rc\n\n漢\u2028字\n".encode() * 3, b"x" * 100 + b"\n"):
        path = tmp_path / f"corpus.txt{packing}"
        path.write_bytes(PACKERS[packing](data))
        expected = [line.decode() for line in io.BytesIO(data)]
        assert texts(path) == texts(str(path)) == texts([path]) == expected
        assert texts(iter([path, "more", path])) == [*expected, "more", *expected]


@pytest.mark.parametrize(
    ("ending", "packing"),
    [*((".jsonl", packing) for packing in PACKERS), (".ndjson", ""), (".JSONL", ""), (".json", "")],
)
def test_json_lines(packing: str, ending: str, tmp_path: Path, batches: int) -> None:
    path = tmp_path / f"corpus{ending}{packing}"
    path.write_bytes(PACKERS[packing](b"\xef\xbb\xbf" + json_lines([*ROWS, None]) + b"\n  \n" + json_lines(["end"])))
    assert texts(path) == [*ROWS, "end"]
    path.write_bytes(PACKERS[packing](json_lines(ROWS, "content")))
    assert texts(path, column="content") == ROWS
    assert len(texts(path, format="text")) == len(ROWS)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """Missing files are reported before any file is read."""
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(FileNotFoundError, match="nope"):
        corpus_of([tmp_path / "a", tmp_path / "nope"])
    with pytest.raises(FileNotFoundError, match="some text"):
        corpus_of("some text")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="empty"):
        corpus_of(tmp_path / "empty")
    with pytest.raises(ValueError, match="xml"):
        corpus_of(tmp_path / "a", format="xml")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.parquet", "a.parquet.gz", "a.arrow"])
def test_an_empty_file_of_columns(name: str, tmp_path: Path) -> None:
    """It is not taken for a pipe, which has no size either."""
    pytest.importorskip("pyarrow")
    (tmp_path / name).touch()
    with pytest.raises(CorpusError, match=name):
        texts(tmp_path / name)


def test_streams(tmp_path: Path, batches: int) -> None:
    data = "a\nlonger than a batch\n漢字".encode()
    assert texts(io.BytesIO(data)) == ["a\n", "longer than a batch\n", "漢字"]
    assert texts(io.BytesIO(json_lines(ROWS, "content")), format="jsonl", column="content") == ROWS
    for stream, how in ((data, {}), (json_lines(ROWS), {"format": "jsonl"})):
        assert [batch.done for batch in corpus_of(io.BytesIO(stream), **how).batches][-1] == len(stream)
    with pytest.raises(ValueError, match="parquet"):
        texts(io.BytesIO(b""), format="parquet")
    with pytest.raises(InvalidUtf8Error, match="line 2"):
        texts(io.BytesIO(b"a\n\xff"))


def test_how_far_it_is(tmp_path: Path, batches: int) -> None:
    """Progress counts the bytes of files, compressed or not, and the items of an iterable."""
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

"""`find_inputs`: the files that an input (a path, a directory, a pattern, an address) names."""

from __future__ import annotations

import gzip
import os
import sys
import zipfile
from pathlib import Path

import pytest

from crayon_hf import CorpusError, MissingExtraError
from crayon_hf.corpora import Reading, find_inputs, read_documents
from crayon_hf.text_readers.documents import format_of
from tests.text_readers.reading_reference import read, texts_of


def make(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(b'{"text": "a"}')


def found(*inputs: object, format: str | None = None) -> list[str]:
    return [file.address for file in find_inputs(list(inputs), format)]  # type: ignore[arg-type]


def test_files_and_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files come in the order of the inputs. Those of a directory come by name, if they have a known ending and are not
    hidden."""
    monkeypatch.chdir(tmp_path)
    known = ["d/10.jsonl", "d/9.JSONL.GZ", "d/a/b/c.txt.zst", "d/a/x.parquet", "d/a.json", "d/z.arrow"]
    make(tmp_path, *known, "d/readme.md", "d/.hidden.txt", "d/.git/a.txt", "d/a.gz", "d/_SUCCESS", "e.txt", "no ending")
    assert found("d") == sorted(known)
    make(tmp_path, "x/data-00000.arrow", "x/dataset_info.json", "x/state.json")  # the files of datasets
    assert found("x") == ["x/data-00000.arrow"]
    assert found("e.txt", Path("d"), "no ending") == ["e.txt", *sorted(known), "no ending"]
    assert found("e.txt", "./e.txt", "e.txt") == ["e.txt", "./e.txt", "e.txt"]
    everything = [*known, "d/readme.md", "d/a.gz", "d/_SUCCESS"]
    assert found("d", format="text") == sorted(everything)
    assert found(f"file://{tmp_path}/d") == [f"{tmp_path}/{name}" for name in sorted(known)]
    (file,) = find_inputs(["e.txt"])
    assert (file.size, file.mark) == (13, str(os.stat("e.txt").st_mtime_ns))
    assert find_inputs("e.txt") == [file]
    by_hand = file._replace(address=f"file://{tmp_path}/e.txt")
    assert [text for batch in read_documents(by_hand, Reading()) for text in texts_of(batch)] == [b'{"text": "a"}']
    os.utime("e.txt", ns=(5, 5))
    assert find_inputs(["e.txt"])[0].mark == "5"


def test_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path, "a[1].txt", "a1.txt", "b*.txt", "bb.txt", "ü ?.txt", "en/1.txt", "en/x/2.txt", "de/1.txt", "de/note")
    assert found("?[1].txt") == ["a1.txt"]
    assert found("a[1].txt") == ["a[1].txt"]  # an existing file is not a pattern
    assert found("b*.txt") == ["b*.txt"]
    assert found("b?.txt") == ["b*.txt", "bb.txt"]
    assert found("ü*") == ["ü ?.txt"]
    assert found("*e*/1.txt") == ["de/1.txt", "en/1.txt"]
    assert found("[de][en]") == ["de/1.txt", "en/1.txt", "en/x/2.txt"]
    assert found("**/*.txt")[-3:] == ["en/1.txt", "en/x/2.txt", "ü ?.txt"]
    assert found("**/[12].txt") == ["de/1.txt", "en/1.txt", "en/x/2.txt"]
    assert found("de/*") == ["de/1.txt", "de/note"]  # a pattern includes all that it matches
    with pytest.raises(CorpusError, match=r"de/note: the name has no known ending"):
        read_documents(find_inputs(["de/*"])[1], Reading())


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "d").mkdir()
    (tmp_path / "d/up").symlink_to(tmp_path / "d")  # a cycle
    for name in ("nope.txt", "*.txt", "empty", "empty/*", "nope/a.txt", "d"):
        with pytest.raises(CorpusError, match=r"No such file|no file there"):
            find_inputs([tmp_path / name])
    (tmp_path / "d/dead.txt").symlink_to("nowhere")
    with pytest.raises(CorpusError, match=r"dead\.txt: No such file"):
        find_inputs([tmp_path / "d"])
    os.mkfifo(tmp_path / "pipe.txt")  # a continued job could not read it again
    with pytest.raises(CorpusError, match="is not a regular file"):
        find_inputs([tmp_path / "pipe.txt"])
    with pytest.raises(CorpusError, match="no input"):
        find_inputs([])
    with pytest.raises(TypeError, match="an input is int"):
        find_inputs([5])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A.TEXT.GZ", ("text", ".gz")),
        ("x/y.z/a.b.jsonl.zst", ("jsonl", ".zst")),
        ("a.json.xz", ("jsonl", ".xz")),
        ("a.feather", ("arrow", "")),
        ("a.gz", (None, ".gz")),
        ("d.txt/a", (None, "")),
        ("s3://b/a.jsonl", ("jsonl", "")),
        ("zip://a.jsonl::s3://b/c.zip", ("jsonl", "")),
        ("https://host/a.jsonl.zst?download=true", ("jsonl", ".zst")),
    ],
)
def test_formats_by_name(name: str, expected: tuple[str | None, str]) -> None:
    assert format_of(name) == expected


fsspec = pytest.importorskip("fsspec")


def test_addresses() -> None:
    """Inputs can be addresses of fsspec (here its memory file system): files, directories and patterns. Files are read
    from any position."""
    memory = fsspec.filesystem("memory")
    data = b"".join(b'{"text": "%d"}\n' % i for i in range(2000))
    memory.pipe({"/c/b.jsonl": data, "/c/a.jsonl.gz": gzip.compress(data), "/c/x/y[1].jsonl": data, "/c/n.md": b""})
    try:
        assert found("memory://c") == ["memory:///c/a.jsonl.gz", "memory:///c/b.jsonl", "memory:///c/x/y[1].jsonl"]
        assert found("memory://c/*.jsonl") == ["memory:///c/b.jsonl"]
        assert found("memory://c/**/*.jsonl") == ["memory:///c/b.jsonl", "memory:///c/x/y[1].jsonl"]
        assert found("memory://c/x/y[1].jsonl") == ["memory://c/x/y[1].jsonl"]
        for file in find_inputs(["memory://c"]):
            assert file.mark
            assert read(file, Reading(batch_bytes=1000)).documents == [b"%d" % i for i in range(2000)]
        with pytest.raises(CorpusError, match=r"memory://c/nope\.txt: does not exist"):
            find_inputs(["memory://c/nope.txt"])
        for nothing in ("memory://c/*.txt", "memory://d/"):
            with pytest.raises(CorpusError, match=nothing.replace("*", r"\*")):
                find_inputs([nothing])
        (file,) = find_inputs(["memory://c/b.jsonl"])
        batches = read_documents(file, Reading(batch_bytes=1000))
        next(batches)
        memory.pipe("/c/b.jsonl", data * 2)
        with pytest.raises(CorpusError, match=r"b\.jsonl has changed"):
            list(batches)
        unmarked = file._replace(mark="")  # as in a store that only reports sizes
        for changed in (data * 2, data[:-1]):
            memory.pipe("/c/b.jsonl", changed)
            with pytest.raises(CorpusError, match=rf"b\.jsonl: has {len(changed)} bytes, expected {len(data)}"):
                list(read_documents(unmarked, Reading()))
        memory.rm("/c/b.jsonl")
        with pytest.raises(CorpusError, match=r"memory://c/b\.jsonl: "):
            list(read_documents(file, Reading()))
    finally:
        memory.rm("/c", recursive=True)


@pytest.mark.slow
def test_columns_at_an_address() -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    memory = fsspec.filesystem("memory")
    table = pa.table({"text": [str(i) for i in range(3000)]})
    try:
        with memory.open("/c/a.parquet", "wb") as file:
            parquet.write_table(table, file, row_group_size=1000)
        for name, new in (("b.arrow", pa.ipc.new_file), ("c.arrow", pa.ipc.new_stream)):
            with memory.open(f"/c/{name}", "wb") as file, new(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=1000)
        for found_file in find_inputs(["memory://c"]):
            found_texts = read(found_file, Reading(batch_bytes=30_000)).documents
            assert found_texts == [b"%d" % i for i in range(3000)]
    finally:
        memory.rm("/c", recursive=True)


def test_addresses_within_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("x/1.jsonl", "x/2.jsonl", "note.md"):
            archive.writestr(name, b'{"text": "%s"}' % name.encode())
    for inputs, expected in (
        (f"zip://x/*.jsonl::{tmp_path}/a.zip", [b"x/1.jsonl", b"x/2.jsonl"]),
        (f"zip://::{tmp_path}/a.zip", [b"x/1.jsonl", b"x/2.jsonl"]),
        (f"zip://x/2.jsonl::file://{tmp_path}/a.zip", [b"x/2.jsonl"]),
    ):
        files = find_inputs([inputs])
        texts = [text for file in files for batch in read_documents(file, Reading()) for text in texts_of(batch)]
        assert texts == expected
    make(tmp_path, "x::y.jsonl")
    monkeypatch.chdir(tmp_path)
    assert found("x::y.jsonl") == ["x::y.jsonl"]


def test_a_driver_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match=r"nosuch://a/b: .*nosuch"):
        find_inputs(["nosuch://a/b"])
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(MissingExtraError, match=r"abfs://a/b: the driver .* is missing: .*adlfs"):
        find_inputs(["abfs://a/b"])
    for module in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"s3://a/b: .*fsspec, .*: python -m pip install '\.\[corpora\]'"):
        find_inputs(["s3://a/b"])

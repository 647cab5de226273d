"""Reading CSV and TSV files in batches gives the rows that Python's csv reads."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from crayon_hf import BadRecordError, CorpusError, train_bpe
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import Reading
from crayon_hf.text_readers.files import read_documents

PIECES = ("word", ",", '"', "\n", "\r\n", "\t", "é", "日本", " ", "", "'", "x" * 50)


def table(kind: str, seed: int, rows: int = 200) -> tuple[bytes, list[str]]:
    """The bytes of a random file as Python's csv writes it, and the texts in it."""
    source = random.Random(seed)
    texts = ["".join(source.choices(PIECES, k=source.randrange(12))) for _ in range(rows)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="," if kind == "csv" else "\t", lineterminator=source.choice(("\n", "\r\n")))
    writer.writerow(["id", "text", "other"])
    for number, text in enumerate(texts):
        writer.writerow([number, text, "o"])
    return out.getvalue().encode(), texts


def read(path: Path, **options: object) -> tuple[list[str], list[str]]:
    texts, bad = [], []
    for part in read_documents(find_inputs([path])[0], Reading(**options)):  # type: ignore[arg-type]
        ranges = zip(part.begins.tolist(), part.ends.tolist(), strict=True)
        texts += [bytes(part.data[begin:end]).decode() for begin, end in ranges]
        bad += [f"{each.what} {each.number}: {each.reason}" for each in part.bad]
    return texts, bad


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize("seed", range(4))
def test_rows(kind: str, seed: int, tmp_path: Path) -> None:
    data, texts = table(kind, seed)
    path = tmp_path / f"x.{kind}"
    path.write_bytes(b"\xef\xbb\xbf" * (seed % 2) + data)
    assert read(path)[0] == texts
    assert read(path, batch_bytes=300)[0] == texts
    template = read(path, template="{id}: {text}")[0]
    assert template == [f"{i}: {text}" for i, text in enumerate(texts)]


BAD = b'text,n\ngood,1\nshort\nfine,2\n"a"b,3\n\nbad \xff byte,4\nlong' + b"g" * 99 + b',5\nlast,6\n"never closed,7\n'


def test_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for data, says in (
        (b"a,b\n1,2\n", "no column 'text'"),
        (b"text,text\n1,2\n", "more than one"),
        (b"", "it has none"),
    ):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=says):
            read(path)
    path.write_bytes(b"text\n")
    assert read(path)[0] == []
    path.write_bytes(BAD)
    with pytest.raises(BadRecordError, match=r"x.csv, row 2: has 1 fields, expected 2"):
        read(path)
    for batch in (1 << 20, 1):
        texts, bad = read(path, bad_records="skip", max_document_bytes=100, batch_bytes=batch)
        assert texts == ["good", "fine", "ab", "last"]
        assert [each.partition(": ")[0] for each in bad] == ["row 2", "row 5", "row 6", "row 8"]
        assert "not UTF-8: invalid byte at offset 4" in bad[1]
        assert "has 103 bytes, more than max_document_bytes (100)" in bad[2]
        assert "has 1 fields, expected 2" in bad[3]
        texts = read(path, bad_records="replace", max_document_bytes=100, batch_bytes=batch)[0]
        assert texts == ["good", "", "fine", "ab", "bad \ufffd byte", "", "last", ""]


@pytest.mark.parametrize("seed", range(100))
def test_hostile_files_as_python_reads_them(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with quotes inside and after fields, unclosed quotes, and all line endings are read as Python's csv reads
    them."""
    source = random.Random(seed)
    kind = source.choice(("csv", "tsv"))
    pieces = ('"', '"', ",", "\t", "\n", "\r\n", "\r", "a", "é", " ", '""', "\\")
    path = tmp_path / f"x.{kind}"
    path.write_bytes(("text\n" + "".join(source.choices(pieces, k=source.randrange(1, 40)))).encode())
    with open(path, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="," if kind == "csv" else "\t") if row][1:]
    texts = [row[0] if len(row) == 1 else "" for row in rows]
    bad = [number for number, row in enumerate(rows, 1) if len(row) != 1]
    for batch, block in ((1 << 20, 1 << 18), (1, 3), (1, 1)):
        monkeypatch.setattr("crayon_hf.text_readers.csv_rows._READ", block)
        found, said = read(path, bad_records="replace", batch_bytes=batch)
        assert found == texts
        assert [each.partition(":")[0] for each in said] == [f"row {number}" for number in bad]
    if not bad and any(texts):
        assert train_bpe(path, vocab_size=300).get_vocab() == train_bpe(texts, vocab_size=300).get_vocab()

"""CSV and TSV: the rows that Python's csv reads, in batches, and on from any place."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import numpy as np
import pytest

from crayon_hf import BadRecordError, CorpusError, Tokenizer, tokenize_corpus, train_bpe
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import Position, Reading
from crayon_hf.text_readers.files import read_documents

PIECES = ("word", ",", '"', "\n", "\r\n", "\t", "é", "日本", " ", "", "'", "x" * 50)


def table(kind: str, seed: int, rows: int = 200) -> tuple[bytes, list[str]]:
    """A file as Python writes it, and its texts."""
    source = random.Random(seed)
    texts = ["".join(source.choices(PIECES, k=source.randrange(12))) for _ in range(rows)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="," if kind == "csv" else "\t", lineterminator=source.choice(("\n", "\r\n")))
    writer.writerow(["id", "text", "other"])
    for number, text in enumerate(texts):
        writer.writerow([number, text, "o"])
    return out.getvalue().encode(), texts


def read(path: Path, start: Position | None = None, **options: object) -> tuple[list[str], list[Position], list[str]]:
    texts, places, bad = [], [], []
    for part in read_documents(find_inputs([path])[0], Reading(**options), start):  # type: ignore[arg-type]
        spans = zip(part.begins.tolist(), part.ends.tolist(), strict=True)
        texts += [bytes(part.data[begin:end]).decode() for begin, end in spans]
        places.append(part.position)
        bad += [f"{each.what} {each.number}: {each.reason}" for each in part.bad]
    return texts, places, bad


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_and_places(kind: str, seed: int, tmp_path: Path) -> None:
    data, texts = table(kind, seed)
    path = tmp_path / f"x.{kind}"
    path.write_bytes(b"\xef\xbb\xbf" * (seed % 2) + data)
    assert read(path)[0] == texts
    found, places, _ = read(path, batch_bytes=300)
    assert found == texts
    assert len(places) > 3
    done = 0
    for place in places:
        assert read(path, place)[0] == texts[place.number :]
        assert place.number > done
        done = place.number
    assert done == len(texts)
    template = read(path, template="{id}: {text}")[0]
    assert template == [f"{i}: {text}" for i, text in enumerate(texts)]


def test_packed(tmp_path: Path) -> None:
    import gzip

    data, texts = table("csv", 1)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(data))
    found, places, _ = read(path, batch_bytes=500)
    assert found == texts
    assert read(path, places[1])[0] == texts[places[1].number :]


BAD = b'text,n\ngood,1\nshort\nfine,2\n"a"b,3\n\nbad \xff byte,4\nlong' + b"g" * 99 + b',5\nlast,6\n"never closed,7\n'


def test_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(BAD)
    with pytest.raises(BadRecordError, match=r"x.csv, row 2: has 1 fields, and there are 2 columns"):
        read(path)
    for batch in (1 << 20, 1):
        texts, _, bad = read(path, bad_records="skip", max_document_bytes=100, batch_bytes=batch)
        assert texts == ["good", "fine", "last"]
        assert [each.partition(": ")[0] for each in bad] == ["row 2", "row 4", "row 5", "row 6", "row 8"]
        assert "',' expected after '\"'" in bad[1]
        assert "not UTF-8: invalid byte at offset 4" in bad[2]
        assert "has 103 bytes, more than max_document_bytes (100)" in bad[3]
        assert "unexpected end of data" in bad[4]
        texts = read(path, bad_records="replace", max_document_bytes=100, batch_bytes=batch)[0]
        assert texts == ["good", "", "fine", "", "bad \ufffd byte", "", "last", ""]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for data, says in (
        (b"a,b\n1,2\n", r"x.csv has no column 'text'; it has 'a', 'b' \(--column says which is the text\)"),
        (b"text,text\n1,2\n", "more than one column 'text'"),
        (b"", "it has no line with names"),
    ):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=says):
            read(path)
    path.write_bytes(b"text\n")
    assert read(path)[0] == []


def test_a_job_and_a_training_of_them(gpt2_like: Path, tmp_path: Path) -> None:
    data, texts = table("csv", 3)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.csv").write_bytes(data)
    (tmp_path / "in" / "y.tsv").write_bytes(table("tsv", 3)[0])
    summary = tokenize_corpus([tmp_path / "in"], tmp_path / "out", "npy", tokenizer=str(gpt2_like), workers=1)
    assert summary.counts.documents == 2 * len(texts)
    tokenizer = Tokenizer.from_file(gpt2_like)
    ids = np.concatenate([np.load(path) for path in sorted((tmp_path / "out").glob("*[0-9].npy"))])
    expected = [id for encoding in tokenizer.encode_batch(texts * 2, add_special_tokens=False) for id in encoding.ids]
    assert sorted(ids.tolist()) == sorted(expected)
    lines = tmp_path / "x.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    ours = train_bpe(tmp_path / "in" / "x.csv", vocab_size=300)
    assert ours.get_vocab() == train_bpe(lines, vocab_size=300).get_vocab()
    (tmp_path / "in" / "x.csv").write_bytes(b"text,n\nx\n")
    with pytest.raises(CorpusError, match="row 1 has 1 fields"):
        train_bpe(tmp_path / "in" / "x.csv")

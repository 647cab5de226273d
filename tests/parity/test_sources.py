"""The comparison of converted sources with their own libraries: it finds what differs, and counts what it compared."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import sentencepiece

from crayon_hf import Tokenizer, UnsupportedError
from parity import sources
from tests.support.version_2_files import WORDS, write_version_2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, training_text: list[str]) -> Path:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text),
        model_writer=out,
        vocab_size=1500,
        model_type="bpe",
        byte_fallback=True,
        character_coverage=0.99,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("sources") / "small.model"
    path.write_bytes(out.getvalue())
    return path


def test_sentencepiece(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "own.txt"
    text.write_text("Some plain words, cafés and 42 more.\n" * 200, encoding="utf-8")
    assert sources.main([str(model), "--strings", "300", "--text", str(text)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["small.model", "strings"], ["small.model", "own"]]
    assert all("no difference, sentencepiece" in line for line in lines[:-1])
    assert int(lines[1].split()[2]) == -(-text.stat().st_size // 2048)


def test_version_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("crayon.c_ext.crayon_cpu")
    path = write_version_2(tmp_path / "words.dat", WORDS)
    assert sources.main([str(path), "--strings", "300"]) == 0
    assert "no difference, xerv-crayon" in capsys.readouterr().out


def test_differences_are_found() -> None:
    def other(texts: list[str]) -> list[list[int]]:
        return [[len(text)] if "x" not in text else [0] for text in texts]

    sides = sources.Sides(
        "none",
        lambda texts: [[len(text)] for text in texts],
        other,
        lambda rows: ["a"] * len(rows),
        lambda rows: ["a"] * (len(rows) - 1) + ["b"],
    )
    texts = ["one", "two x", "x", "four"]
    assert sources.compare(sides, iter(texts)) == (4, 2, 1, "x")


def test_published_vectors(tmp_path: Path, gpt2_like: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    texts = ["one", "", "two\nlines"]
    path = tmp_path / "own.json"
    path.write_bytes(gpt2_like.read_bytes())
    (tmp_path / "own.json.inp").write_bytes("\n__ggml_vocab_test__\n".join(texts).encode())
    rows = [tokenizer.encode(text).ids for text in texts]
    (tmp_path / "own.json.out").write_text("\n".join(" ".join(map(str, row)) for row in rows) + "\n")
    assert sources.vectors_of(str(path)) == (texts, rows)
    (tmp_path / "own.json.out").write_text("5\n\n5\n")
    assert sources.main([str(path), "--strings", "0"]) == 2
    said = capsys.readouterr()
    assert "published vectors" in said.out
    assert "2 with OTHER IDS" in said.out
    assert "parity.runner compares it" in said.err


def test_what_has_no_library(gpt2_like: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"is a tokenizer\.json: crayon_hf"):
        sources.open_sides(str(gpt2_like))

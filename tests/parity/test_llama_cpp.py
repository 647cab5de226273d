"""`python -m parity.llama_cpp`: published vectors, llama.cpp itself, a plain implementation, and planted
differences."""

from __future__ import annotations

from pathlib import Path

import pytest

import parity.llama_cpp.__main__ as suite
from crayon_hf import Tokenizer
from crayon_hf.formats import convert
from crayon_hf.formats.export import to_gguf
from parity.llama_cpp.made import MODELS

TEXTS = ["one", "", "two\nlines", "three more words"]


@pytest.fixture
def file(tmp_path: Path, gpt2_like: Path) -> Path:
    """A GGUF file with files of test vectors (texts and their ids) beside it."""
    path = tmp_path / "own.gguf"
    path.write_bytes(to_gguf(convert(gpt2_like)).data)
    tokenizer = Tokenizer.from_file(path)
    rows = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    Path(f"{path}.inp").write_bytes("\n__ggml_vocab_test__\n".join(TEXTS).encode())
    Path(f"{path}.out").write_text("\n".join(" ".join(map(str, row)) for row in rows) + "\n")
    return path


@pytest.fixture(autouse=True)
def no_llama(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "open_llama", lambda path: None)


def test_vectors(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main([str(file)]) == 0
    said = capsys.readouterr().out
    assert "published vectors" in said
    assert "not compared: llama-cpp-python is not installed" in said
    Path(f"{file}.out").write_text("5\n\n5\n5\n")
    assert suite.main([str(file)]) == 1
    said = capsys.readouterr().out
    assert "3 DIFFER" in said
    assert "'one'" in said


@pytest.mark.parametrize("model", MODELS)
def test_random_files(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main(["--random", "12", "--each", "25", "--model", model]) == 0
    row, total = capsys.readouterr().out.splitlines()
    assert row.startswith(model)
    assert "12 files" in row
    assert total.endswith("all agree")

"""`python -m parity.llama_cpp`: published vectors and llama.cpp itself, and planted differences in both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import pytest

import parity.llama_cpp.__main__ as suite
from crayon_hf import Tokenizer

TEXTS = ["one", "", "two\nlines", "three more words"]


@pytest.fixture
def file(tmp_path: Path, gpt2_like: Path) -> Path:
    """A GGUF file with its vectors."""
    model = json.loads(gpt2_like.read_bytes())["model"]
    path = tmp_path / "own.gguf"
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(model["vocab"], key=model["vocab"].__getitem__))
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    writer.add_token_merges(merges)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    write_vectors(path, Tokenizer.from_file(path))
    return path


def write_vectors(path: Path, tokenizer: Tokenizer) -> None:
    rows = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    Path(f"{path}.inp").write_bytes("\n__ggml_vocab_test__\n".join(TEXTS).encode())
    Path(f"{path}.out").write_text("\n".join(" ".join(map(str, row)) for row in rows) + "\n")


class Llama:
    """llama.cpp, as ours has it; `planted` is the text that it encodes otherwise."""

    def __init__(self, path: str, planted: str = "") -> None:
        self.tokenizer, self.planted = Tokenizer.from_file(path), planted

    def tokenize(self, text: bytes, add_bos: bool, special: bool) -> list[int]:
        ids = self.tokenizer.encode(text.decode(), add_special_tokens=False).ids
        return [*ids, 0] if self.planted and self.planted in text.decode() else ids


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


def test_vectors_of_another_length(file: Path) -> None:
    Path(f"{file}.out").write_text("5\n")
    assert suite.main([str(file)]) == 2


def test_llama_cpp_itself(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def opened(planted: str) -> Any:
        return lambda path: Llama(path, planted)

    monkeypatch.setattr(suite, "version", lambda package: "0.0")
    monkeypatch.setattr(suite, "open_llama", opened(""))
    assert suite.main([str(file), "--strings", "300"]) == 0
    monkeypatch.setattr(suite, "open_llama", opened("q"))
    assert suite.main([str(file), "--strings", "300"]) == 1
    assert "'q'  (1 characters" in capsys.readouterr().out


def test_nothing_to_compare_with(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{file}.inp").unlink()
    assert suite.main([str(file)]) == 2
    assert "own.gguf.inp and .out are missing" in capsys.readouterr().out
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    assert suite.main([]) == 2
    assert "set CRAYON_SHARED to a directory with vocab/gguf" in capsys.readouterr().err
    (tmp_path / "vocab" / "gguf").mkdir(parents=True)
    file.rename(tmp_path / "vocab" / "gguf" / "own.gguf")
    monkeypatch.setenv("CRAYON_SHARED", str(tmp_path))
    assert suite.found_files() == [str(tmp_path / "vocab" / "gguf" / "own.gguf")]

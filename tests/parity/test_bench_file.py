"""bench_file: the ids that it expects are right, and wrong ones are noticed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from crayon_hf import Tokenizer
from crayon_hf.parity import bench_file
from crayon_hf.parity.harness.references import find

TEXT = "one two three four.\nIt's five; \u00e9\u4e2d\n".encode() * 40 + b"wor"


@pytest.mark.parametrize("copies", [1, 2, 3, 7])
def test_the_ids_of_copies(llama3_like: Path, copies: int) -> None:
    ids = Tokenizer.from_file(llama3_like).encode((TEXT * copies).decode()).ids
    digest = hashlib.blake2b(np.array(ids, np.int32).tobytes(), digest_size=16).hexdigest()
    assert bench_file.expected(find(str(llama3_like)), TEXT, copies) == (len(ids), digest)


def test_a_run(llama3_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(TEXT)
    options = ["--gigabytes", "0.001", "--text", str(text), "--chunk-bytes", "5000", "--directory", str(tmp_path)]
    assert bench_file.main([str(llama3_like), *options]) == 0
    line = capsys.readouterr().out
    assert "0.00 GB" in line
    assert "as by ordinary calls" in line
    assert list(tmp_path.iterdir()) == [text]


def test_other_ids_are_noticed(
    llama3_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(TEXT)
    monkeypatch.setattr(bench_file, "run_file", lambda *_: bench_file.Run(5, "0", 1.0, 1.0))
    assert bench_file.main([str(llama3_like), "--gigabytes", "0", "--text", str(text)]) == 1
    assert "DIFFER" in capsys.readouterr().out


def test_python_has_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    assert len(bench_file.text_for([], 300_000)) >= 300_000


def test_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_file.main(["no-such-vocabulary"]) == 2
    assert "no-such-vocabulary" in capsys.readouterr().err

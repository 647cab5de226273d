"""`python -m parity.sentencepiece`: it agrees, and it finds a planted difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sentencepiece")
import parity.sentencepiece.__main__ as suite
from crayon_hf.parity.compare.sentencepiece_side import OurPiecesSide


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(suite.train(str(tmp_path_factory.mktemp("models"))))


def test_agreement(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "own.txt"
    text.write_text("Some plain words, cafés and 42 more.\n" * 200, encoding="utf-8")
    assert suite.main([str(model), "--strings", "300", "--text", str(text)]) == 0
    rows = capsys.readouterr().out.splitlines()[1:-1]
    assert [row.split()[3] for row in rows] == ["strings", "tokens", "own"]
    assert int(rows[2].split()[4]) == -(-text.stat().st_size // 2048)


def test_planted_difference(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Planted(OurPiecesSide):
        def _fields(self, encoding: Any) -> dict[str, Any]:
            fields = super()._fields(encoding)
            return {**fields, "pieces": [piece.replace("q", "k") for piece in fields["pieces"]]}

    monkeypatch.setattr(suite, "OurPiecesSide", Planted)
    assert suite.main([str(model), "--strings", "300"]) == 1
    said = capsys.readouterr().out
    assert "DIFFER" in said
    assert "pieces: first difference" in said
    assert "'q'  (1 characters" in said


def test_without_targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: Path) -> None:
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    assert suite.found_models(str(tmp_path)) == [str(tmp_path / "trained.model")]
    (tmp_path / "vocab" / "mine").mkdir(parents=True)
    shared = tmp_path / "vocab" / "mine" / "tokenizer.model"
    shared.write_bytes(model.read_bytes())
    monkeypatch.setenv("CRAYON_SHARED", str(tmp_path))
    assert suite.found_models(str(tmp_path)) == [str(shared)]
    assert suite.open_pair(str(shared)).target == "mine"


def test_other_files(gpt2_like: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main([str(gpt2_like)]) == 2
    assert "parity.sentencepiece compares a SentencePiece model" in capsys.readouterr().err

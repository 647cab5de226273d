"""`python -m parity.sentencepiece`: our ids agree with SentencePiece's, and a planted difference is found."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sentencepiece")
import parity.sentencepiece.__main__ as suite
from crayon_hf import Tokenizer
from crayon_hf.parity.compare.records import Mode
from crayon_hf.parity.compare.sentencepiece_side import OurPiecesSide, SentencePieceSide
from tests.support.sentencepiece_models import model_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(suite.train(str(tmp_path_factory.mktemp("models"))))


def test_agreement(model: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main([str(model), "--strings", "300", "--text", str(text)]) == 0
    rows = [row.split() for row in capsys.readouterr().out.splitlines()[:-1]]
    assert [row[1] for row in rows] == ["strings", "tokens", "own"]
    assert rows[2][4] == "4"


def test_unknown_pieces_have_their_name() -> None:
    data = model_of([("<unk>", 0.0, 2), ("\u2581", -1.0, 1), ("a", -1.0, 1)], 1)
    side = SentencePieceSide(import_module("sentencepiece").SentencePieceProcessor(model_proto=data))
    (outcome,) = side.outcomes([("a\u2603",)], Mode())
    assert outcome.fields["pieces"] == ["\u2581", "a", "<unk>"]


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


def test_random_models(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    assert suite.main(["--models", "60", "--seed", "11"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("60 models of seed 11: ")
    assert "0 refused, 0 delegated" in said
    assert said.endswith("all agree\n")
    monkeypatch.setattr(Tokenizer, "decode_batch", lambda self, rows, **_: [""] * len(rows))
    assert suite.main(["--models", "3", "--seed", "11"]) == 1
    said = capsys.readouterr().out
    assert "DIFFER in 2 models" in said
    assert "\n  ours     ''\n" in said

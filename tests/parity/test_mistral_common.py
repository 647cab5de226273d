"""`python -m parity.mistral_common`: it agrees, and it finds a planted difference."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mistral_common")
import parity.mistral_common.__main__ as suite
from crayon_hf import Tokenizer
from parity.pairs import CallsSide, our_side

pytestmark = pytest.mark.slow


def test_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main([suite.shipped()[0], "--strings", "200"]) == 0
    assert "mistral-common" in capsys.readouterr().out


def test_planted_difference(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def planted(tokenizer: Tokenizer) -> CallsSide:
        side: Any = our_side(tokenizer)
        return CallsSide(side.ids_of, lambda rows: [text.replace("7", "8") for text in side.texts_of(rows)])

    monkeypatch.setattr(suite, "our_side", planted)
    assert suite.main([suite.shipped()[0], "--strings", "200"]) == 1
    assert "'7'  (1 characters" in capsys.readouterr().out


def test_other_files(gpt2_like: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main([str(gpt2_like)]) == 2
    assert "parity.mistral_common compares a tekken.json" in capsys.readouterr().err

"""Snapshots of tokenizers on whose backend transformers has written a flag: those of Mistral's models."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer

import crayon_hf
from crayon_hf.transformers_face import loading

TEXT = "w17 w99999 unknown w3"


@pytest.fixture
def mistral(tmp_path: Path) -> Path:
    """A repository that transformers takes for one of Mistral's, whose pattern it finds wrong."""
    backend = Tokenizer(models.WordLevel({f"w{id}": id for id in range(100_001)}, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    home = tmp_path / "mistral"
    home.mkdir()
    backend.save(str(home / "tokenizer.json"))
    (home / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    (home / "config.json").write_text(json.dumps({"model_type": "mistral", "transformers_version": "4.50.0"}))
    return home


def test_a_flag_on_the_backend(
    mistral: Path, settled: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.getLogger("transformers").addHandler(caplog.handler)
    stock = AutoTokenizer.from_pretrained(mistral)
    warned = caplog.messages[:]
    assert "incorrect regex" in "".join(warned)
    assert (vars(stock) | vars(stock.backend_tokenizer))["fix_mistral_regex"] is False  # transformers 4: on itself
    first = crayon_hf.AutoTokenizer.from_pretrained(mistral)
    caplog.clear()
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives the second
    second = crayon_hf.AutoTokenizer.from_pretrained(mistral)
    assert caplog.messages == warned
    for ours in (first, second):
        assert vars(ours.backend_tokenizer) == vars(stock.backend_tokenizer)
        assert ours(TEXT) == stock(TEXT)

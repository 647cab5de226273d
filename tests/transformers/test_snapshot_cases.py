"""Snapshots where transformers writes a flag on the backend, and where a server gives the model's configuration."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, BertConfig, LlamaConfig

import crayon_hf
from crayon_hf.transformers import loading

TEXT = "w17 w99999 unknown w3"


@pytest.fixture
def mistral(tmp_path: Path) -> Path:
    """A repository that transformers takes for one of Mistral's, whose pattern it finds wrong."""
    backend = Tokenizer(models.WordLevel({f"w{id}": id for id in range(100_001)}, unk_token="w0"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)  # BertTokenizerFast of transformers 4 reads it
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


def test_a_configuration_that_is_given(
    mistral: Path, settled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """vLLM gives it each time."""
    opening = crayon_hf.AutoTokenizer.from_pretrained
    (mistral / "tokenizer_config.json").unlink()  # so that the class is that of the configuration
    (mistral / "config.json").unlink()
    plain: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    configurations = [LlamaConfig(**plain), BertConfig()]
    stock = [AutoTokenizer.from_pretrained(mistral, config=config) for config in configurations]
    assert type(stock[0]) is not type(stock[1])
    for config in configurations:
        opening(mistral, config=config)
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives these
    for config, expected in zip(configurations, stock, strict=True):
        ours = opening(mistral, config=config)
        assert isinstance(ours, type(expected))
        assert ours.get_vocab() == expected.get_vocab()
    with pytest.raises(TypeError, match="NoneType"):
        opening(mistral, config=LlamaConfig(**plain, vocab_size=7))


def test_a_configuration_that_cannot_be_read(mistral: Path) -> None:
    class Odd(LlamaConfig):
        def to_dict(self) -> dict[str, Any]:
            raise TypeError("no")

    stock = AutoTokenizer.from_pretrained(mistral, config=Odd())
    ours = crayon_hf.AutoTokenizer.from_pretrained(mistral, config=Odd())
    assert ours(TEXT) == stock(TEXT)

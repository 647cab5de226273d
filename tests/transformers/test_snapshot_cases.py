"""Special cases of snapshots, the cached results of opening: a flag on the backend, a configuration that a server
passes, many special tokens, and repositories with only a model file."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, BertConfig, LlamaConfig

import crayon_hf
from crayon_hf.transformers import loading
from crayon_hf.transformers.classes import class_for
from tests.support.sentencepiece_models import trained

TEXT = "w17 w99999 unknown w3"


@pytest.fixture
def mistral(tmp_path: Path) -> Path:
    """A repository that transformers takes for one of Mistral's with a wrong pattern."""
    backend = Tokenizer(models.WordLevel({f"w{id}": id for id in range(100_001)}, unk_token="w0"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)  # BertTokenizerFast of transformers 4 inspects it
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
    """A model's configuration may be passed at each opening, as vLLM does; snapshots give the same."""
    opening = crayon_hf.AutoTokenizer.from_pretrained
    (mistral / "tokenizer_config.json").unlink()  # so that the configuration decides the class
    (mistral / "config.json").unlink()
    plain: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    configurations = [LlamaConfig(**plain), BertConfig()]
    stock = [AutoTokenizer.from_pretrained(mistral, config=config) for config in configurations]
    assert type(stock[0]) is not type(stock[1])
    for config in configurations:
        opening(mistral, config=config)
    monkeypatch.setattr(loading, "adopt", None)  # only snapshots give these
    for config, expected in zip(configurations, stock, strict=True):
        ours = opening(mistral, config=config)
        assert isinstance(ours, type(expected))
        assert ours.get_vocab() == expected.get_vocab()
    with pytest.raises(TypeError, match="NoneType"):
        opening(mistral, config=LlamaConfig(**plain, vocab_size=7))


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "tokenizer.dat"}


@pytest.mark.parametrize("count", [7, 1024])
def test_extra_special_tokens(
    repository: Path, settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A tokenizer with any number of extra special tokens is restored from a snapshot. Florence-2 has 1,000 for
    locations."""
    stock = AutoTokenizer.from_pretrained(repository)
    of_4 = "additional_special_tokens"
    named = of_4 if of_4 in stock.SPECIAL_TOKENS_ATTRIBUTES else "extra_special_tokens"
    stock.add_special_tokens({named: [f"<loc_{number}>" for number in range(count)]})
    saved = tmp_path / "saved"
    stock.save_pretrained(saved)
    stock = AutoTokenizer.from_pretrained(saved)
    first = crayon_hf.AutoTokenizer.from_pretrained(saved)
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives the second
    second = crayon_hf.AutoTokenizer.from_pretrained(saved)
    stock.save_pretrained(tmp_path / "stock")
    for number, ours in enumerate((first, second, pickle.loads(pickle.dumps(second)), copy.copy(second))):
        assert getattr(ours, named) == getattr(stock, named)
        assert len(getattr(ours, named)) >= count
        assert ours.special_tokens_map == stock.special_tokens_map
        assert ours.all_special_ids == stock.all_special_ids
        ours.save_pretrained(tmp_path / str(number))
        assert files(tmp_path / str(number)) == files(tmp_path / "stock")


@pytest.mark.parametrize("name", ["AlbertTokenizer", "FNetTokenizer"])
def test_only_a_model_file(
    name: str, settled: Path, tmp_path: Path, training_text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository with only a SentencePiece model is restored from a snapshot, though its classes store the rules of
    the normalizer as bytes."""
    pytest.importorskip("sentencepiece")
    kind = getattr(transformers, name if hasattr(transformers, "TokenizersBackend") else f"{name}Fast")
    home = tmp_path / "home"
    home.mkdir()
    symbols = ["[CLS]", "[SEP]", "<pad>", "[MASK]"]
    (home / "spiece.model").write_bytes(trained(training_text, vocab_size=300, user_defined_symbols=symbols))
    stock = kind.from_pretrained(home)
    ours: Any = class_for(kind)
    first = ours.from_pretrained(home)
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives the second
    second = ours.from_pretrained(home)
    stock.save_pretrained(tmp_path / "stock")
    for number, tokenizer in enumerate((first, second)):
        assert tokenizer("\uff34he déjà w3").input_ids == stock("\uff34he déjà w3").input_ids
        tokenizer.save_pretrained(tmp_path / str(number))
        assert files(tmp_path / str(number)) == files(tmp_path / "stock")

"""`train_new_from_iterator` against transformers: the same tokenizer, from the native trainer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import AddedToken

import crayon_hf
from crayon_hf import DelegatedWarning

TEXTS = [["hello hello world\n", "the quick brown fox the the"], ["  spaced   out é ü 漢字 "]] * 5
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "more special tokens": {"new_special_tokens": ["<new>", AddedToken("<lazy>", lstrip=True)]},
    "renamed": {"special_tokens_map": {"<|endoftext|>": "<end>", "[CLS]": "<cls>", "</s>": "<fin>", "<s>": "<begin>"}},
    "trainer": {"min_frequency": 3, "max_token_length": 4, "show_progress": False},
}


def retrain(tokenizer: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DelegatedWarning)
        return tokenizer.train_new_from_iterator(iter(TEXTS), 400, length=10, **options)


def facts(tokenizer: Any) -> dict[str, Any]:
    """All properties of a tokenizer that a user sees."""
    return {
        "class": type(tokenizer).__name__,
        "json": json.loads(tokenizer._tokenizer.to_str()),
        "named": {name: str(token) for name, token in tokenizer._special_tokens_map.items()},
        "special": tokenizer.all_special_tokens,
        "ids": tokenizer.all_special_ids,
        "arguments": sorted(tokenizer.init_kwargs),
        "size": len(tokenizer),
        "encoded": [tokenizer(text).data for texts in TEXTS[:2] for text in texts],
        "decoded": tokenizer.decode(tokenizer("the fox")["input_ids"]),
    }


@pytest.mark.parametrize("options", OPTIONS)
def test_like_transformers(pair: tuple[Any, Any], options: str, native: list[str]) -> None:
    """The retrained tokenizer equals that of transformers. If the reference trains the model with random results, all
    but the vocabulary is equal."""
    stock, ours = (facts(retrain(tokenizer, **_known(tokenizer, OPTIONS[options]))) for tokenizer in pair)
    bpe = stock["json"]["model"]["type"] == "BPE"
    assert len(native) == bpe
    if not bpe:
        for one in (stock, ours):
            del one["json"]["model"]["vocab"], one["size"], one["encoded"], one["decoded"]
    assert ours == stock


def _known(tokenizer: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the trainer of the tokenizer's model has."""
    unigram = json.loads(tokenizer._tokenizer.to_str())["model"]["type"] == "Unigram"
    return {} if unigram and "min_frequency" in options else dict(options)


def test_the_result_is_ours(repositories: dict[str, Path], tmp_path: Path, native: list[str]) -> None:
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["byte_level"])
    before = ours._tokenizer.to_str()
    made = retrain(ours)
    assert isinstance(made, crayon_hf.CrayonTokenizerFast)
    assert made._tokenizer.engine == "native"
    assert ours._tokenizer.to_str() == before
    assert made.chat_template == ours.chat_template
    made.save_pretrained(tmp_path)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)("the fox").data == made("the fox").data
    again = retrain(made)
    assert again.get_vocab() == made.get_vocab()

"""``import crayon_hf as tokenizers``: every name of ``tokenizers`` exists, and its ready-made classes, such as
ByteLevelBPETokenizer, run in our engine."""

from __future__ import annotations

import copy
import pickle
import sys
import typing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from tests.support.versions import before_1

MODULES = [
    *("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "tools", "trainers")
]


def public(module: Any) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


@before_1("such names: ours stand for some of them")
def test_every_name_is_there() -> None:
    of_the_library = public(tokenizers) - {*dir(typing), "Enum", "tokenizers"}
    assert of_the_library <= set(dir(crayon_hf)) == set(crayon_hf.__all__)
    ours = {"Encoding", "Tokenizer", "implementations", *MODULES, *public(tokenizers.implementations)}
    for name in of_the_library - ours:
        assert getattr(crayon_hf, name) is getattr(tokenizers, name), name
    with pytest.raises(AttributeError, match="module 'crayon_hf' has no attribute 'nothing'"):
        _ = crayon_hf.nothing  # type: ignore[attr-defined]


@before_1("such names: ours stand for some of them")
@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_its_names(name: str) -> None:
    ours, theirs = import_module(f"crayon_hf.{name}"), import_module(f"tokenizers.{name}")
    assert getattr(crayon_hf, name) is ours
    assert public(theirs) <= public(ours)
    for public_name in public(theirs):
        is_theirs = getattr(ours, public_name) is getattr(theirs, public_name)
        assert is_theirs == (name != "implementations" and public_name != "DecodeStream"), public_name


def test_instances_of_the_class(gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our tokenizer is an instance of the class of ``tokenizers``, too, once that library is imported."""
    ours = crayon_hf.Tokenizer.from_file(gpt2_like)
    for tokenizer in (ours, copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert type(tokenizer) is crayon_hf.Tokenizer
        assert isinstance(tokenizer, tokenizers.Tokenizer)
        assert isinstance(tokenizer, crayon_hf.Tokenizer)
        assert not isinstance(tokenizer, (str, tokenizers.Encoding))
    monkeypatch.delitem(sys.modules, "tokenizers")
    assert ours.__class__ is crayon_hf.Tokenizer


TEXTS = ["the quick brown fox", "the lazy dog, déjà vu", "The end"] * 20


@before_1("ready-made tokenizers")
@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("ByteLevelBPETokenizer", {"lowercase": True, "unicode_normalizer": "nfc"}),
        ("CharBPETokenizer", {}),
        ("SentencePieceBPETokenizer", {}),
        ("SentencePieceUnigramTokenizer", {}),
        ("BertWordPieceTokenizer", {"lowercase": True}),
    ],
)
def test_the_ready_made(kind: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    made = [getattr(module, kind)(**arguments) for module in (tokenizers, crayon_hf)]
    assert type(made[1]._tokenizer) is crayon_hf.Tokenizer
    assert isinstance(made[1], import_module("crayon_hf.implementations").BaseTokenizer)
    stock, ours = made
    ours.train_from_iterator(TEXTS, vocab_size=300, show_progress=False)
    assert ours._tokenizer.engine == "native"
    if kind in ("ByteLevelBPETokenizer", "SentencePieceBPETokenizer"):  # for others the library orders tokens randomly
        stock.train_from_iterator(TEXTS, vocab_size=300, show_progress=False)
        assert ours.get_vocab() == stock.get_vocab()
    stock._tokenizer = tokenizers.Tokenizer.from_str(ours.to_str())
    assert repr(ours) == repr(stock)
    for text in (*TEXTS[:3], "", *(["unseen ☃"] if kind != "SentencePieceUnigramTokenizer" else [])):
        for pair in (None, "the dog"):
            assert ours.encode(text, pair).ids == stock.encode(text, pair).ids
            assert ours.encode(text, pair).offsets == stock.encode(text, pair).offsets
        assert ours.decode(ours.encode(text).ids) == stock.decode(stock.encode(text).ids)
    if kind != "SentencePieceUnigramTokenizer":  # the library reads some scores with a wrong last bit
        (tmp_path / "files").mkdir()
        files = stock.save_model(str(tmp_path / "files"))
        opened = [getattr(module, kind).from_file(*files, **arguments) for module in (tokenizers, crayon_hf)]
        assert type(opened[1]) is type(ours)
        assert opened[1].encode("the fox").ids == opened[0].encode("the fox").ids
    assert pickle.loads(pickle.dumps(ours)).encode("the").ids == ours.encode("the").ids

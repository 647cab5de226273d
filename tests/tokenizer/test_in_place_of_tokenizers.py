"""``import crayon_hf as tokenizers``: every name is there, and the ready-made tokenizers are ours."""

from __future__ import annotations

import pickle
import subprocess
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


def test_our_decode_stream() -> None:
    from crayon_hf.decoders import DecodeStream

    assert DecodeStream is crayon_hf.DecodeStream


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
    if kind in ("ByteLevelBPETokenizer", "SentencePieceBPETokenizer"):  # chance orders the library's tokens of others
        stock.train_from_iterator(TEXTS, vocab_size=300, show_progress=False)
        assert ours.get_vocab() == stock.get_vocab()
    stock._tokenizer = tokenizers.Tokenizer.from_str(ours.to_str())
    assert repr(ours) == repr(stock)
    for text in (*TEXTS[:3], "", *(["unseen ☃"] if kind != "SentencePieceUnigramTokenizer" else [])):
        for pair in (None, "the dog"):
            assert ours.encode(text, pair).ids == stock.encode(text, pair).ids
            assert ours.encode(text, pair).offsets == stock.encode(text, pair).offsets
        assert ours.decode(ours.encode(text).ids) == stock.decode(stock.encode(text).ids)
    if kind != "SentencePieceUnigramTokenizer":  # the library's reader of scores misses the last bit of some
        stock.save(str(tmp_path / "stock.json"))
        ours.save(str(tmp_path / "ours.json"))
        assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "stock.json").read_bytes()
        (tmp_path / "files").mkdir()
        files = stock.save_model(str(tmp_path / "files"))
        opened = [getattr(module, kind).from_file(*files, **arguments) for module in (tokenizers, crayon_hf)]
        assert type(opened[1]) is type(ours)
        assert opened[1].encode("the fox").ids == opened[0].encode("the fox").ids
    assert pickle.loads(pickle.dumps(ours)).encode("the").ids == ours.encode("the").ids


def test_a_program_of_the_library() -> None:
    def program(tokenizers: Any) -> Any:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
        tokenizer.normalizer = tokenizers.normalizers.Sequence(
            [tokenizers.normalizers.NFD(), tokenizers.normalizers.StripAccents()]
        )
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\s+"), "removed")
        tokenizer.decoder = tokenizers.decoders.BPEDecoder()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=80, special_tokens=["[UNK]", "[SEP]"], show_progress=False)
        tokenizer.train_from_iterator(TEXTS, trainer)
        tokenizer.add_tokens([tokenizers.AddedToken("<new>", lstrip=True)])
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing("$A [SEP]", special_tokens=[("[SEP]", 1)])
        encoding = tokenizer.encode("déjà vu <new> fox")
        stream = tokenizers.decoders.DecodeStream()
        return encoding.ids, encoding.offsets, encoding.tokens, [stream.step(tokenizer, id) for id in encoding.ids]

    assert program(crayon_hf) == program(tokenizers)


def _seen(kind: Any, path: Path) -> list[Any]:
    """What goes through the library somewhere inside."""
    tokenizer = kind.from_file(str(path))
    model = tokenizer.model
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([tokenizer.pre_tokenizer])
    said = [tokenizer.to_str(), tokenizer.to_str(True), type(model).__name__, tokenizer.encode(TEXTS[0]).ids]
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(_Cuts())
    said.append(tokenizer.encode(TEXTS[1]).tokens)
    trained = kind(tokenizers.models.Unigram())
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=60, show_progress=False, special_tokens=["<unk>"])
    trained.train_from_iterator(TEXTS, trainer)
    return [*said, trained.encode(TEXTS[0]).tokens]


class _Cuts:
    def pre_tokenize(self, text: Any) -> None:
        text.split(lambda _, part: part.split(" ", "isolated"))


@before_1("components written in Python")
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_ours_under_its_name(gpt2_like: Path, wordpiece_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [_seen(tokenizers.Tokenizer, path) for path in (gpt2_like, wordpiece_like)]
    stock = tokenizers.Tokenizer.from_file(str(gpt2_like))
    monkeypatch.setattr(tokenizers, "Tokenizer", crayon_hf.Tokenizer)
    assert [_seen(tokenizers.Tokenizer, path) for path in (gpt2_like, wordpiece_like)] == expected
    assert crayon_hf.Tokenizer.from_tokenizers(stock).encode(TEXTS[0]).ids == stock.encode(TEXTS[0]).ids


@pytest.mark.slow
def test_ours_under_its_name_before_transformers(gpt2_like: Path) -> None:
    script = f"""
import tokenizers, crayon_hf
stock = tokenizers.Tokenizer.from_file({str(gpt2_like)!r})
tokenizers.Tokenizer = crayon_hf.Tokenizer
from transformers import PreTrainedTokenizerFast
for kind in (PreTrainedTokenizerFast, crayon_hf.CrayonTokenizerFast):
    tokenizer = kind(tokenizer_file={str(gpt2_like)!r})
    assert isinstance(tokenizer._tokenizer, crayon_hf.Tokenizer)
    assert tokenizer({TEXTS[1]!r}).input_ids == stock.encode({TEXTS[1]!r}).ids
    assert tokenizer.decode(stock.encode({TEXTS[1]!r}).ids) == stock.decode(stock.encode({TEXTS[1]!r}).ids)
"""
    subprocess.run([sys.executable, "-c", script], check=True)

"""Greedy mode in Python: `mode="greedy"` at opening stays in effect after every change of the tokenizer."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import warnings
from pathlib import Path

import huggingface_hub
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from crayon_hf import Tokenizer, UnsupportedError
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.support.reference_impl import token_bytes
from tests.support.version_2_files import longest_match
from tests.support.versions import before_1

TEXTS = (
    "",
    "The quick brown foxes' jumping; unbelievable, isn't it? 12345",
    "naïve Zoë 日本語 🙂 \x00 مرحبا",
    "    def encode(self, text):\n\t\treturn [selfish]  \r\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa thethethethe",
)


def tokens_of(path: Path) -> dict[bytes, int]:
    """The byte-level tokens of a vocabulary, by their bytes, without special tokens."""
    document = json.loads(path.read_bytes())
    special = {token["content"] for token in document["added_tokens"]}
    return {token_bytes(token): id for token, id in document["model"]["vocab"].items() if token not in special}


@pytest.fixture
def greedy(gpt2_like):
    return Tokenizer.from_file(gpt2_like, mode="greedy")


@pytest.fixture
def exact(gpt2_like):
    return Tokenizer.from_file(gpt2_like)


def rank_file(vocabulary: Path, path: Path) -> Path:
    ids = tokens_of(vocabulary)
    tokens = sorted(ids, key=lambda token: (len(token) > 1, ids[token]))
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


# -- opening


def openers(path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch):
    """All functions that open a vocabulary, with their arguments besides the mode."""
    (directory / "mine.json").write_bytes(path.read_bytes())
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(directory))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda **_: str(path))
    Tokenizer.from_file(path).save(directory / "saved.dat")
    return {
        "file": (Tokenizer.from_file, (path,)),
        "cartridge": (Tokenizer.from_file, (directory / "saved.dat",)),
        "str": (Tokenizer.from_str, (path.read_text(encoding="utf-8"),)),
        "buffer": (Tokenizer.from_buffer, (path.read_bytes(),)),
        "profile": (Tokenizer.from_profile, ("mine",)),
        "pretrained": (Tokenizer.from_pretrained, ("someone/something",)),
    }


WAYS = "file", "cartridge", "str", "buffer", "profile", "pretrained"


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_open(way, gpt2_like, tmp_path, monkeypatch):
    opener, arguments = openers(gpt2_like, tmp_path, monkeypatch)[way]
    tokens = tokens_of(gpt2_like)
    greedy, exact = opener(*arguments, mode="greedy"), opener(*arguments)
    assert (greedy.mode, exact.mode, opener(*arguments, mode="exact").mode) == ("greedy", "exact", "exact")
    assert [greedy.encode(text).ids for text in TEXTS] == [longest_match(tokens, text.encode()) for text in TEXTS]
    assert [greedy.encode(text).ids for text in TEXTS] != [exact.encode(text).ids for text in TEXTS]
    assert [greedy.decode(greedy.encode(text).ids) for text in TEXTS] == list(TEXTS)


def test_tiktoken(gpt2_like, tmp_path):
    path = rank_file(gpt2_like, tmp_path / "small.tiktoken")
    tokens = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())}
    greedy = Tokenizer.from_tiktoken(path, name="cl100k_base", special_tokens={"<|end|>": 5000}, mode="greedy")
    assert greedy.mode == "greedy"
    assert [greedy.encode(text).ids for text in TEXTS] == [longest_match(tokens, text.encode()) for text in TEXTS]
    assert greedy.encode("the<|end|>").ids == [*longest_match(tokens, b"the"), 5000]
    twin = pickle.loads(pickle.dumps(greedy))
    assert [twin.encode(text).ids for text in TEXTS] == [greedy.encode(text).ids for text in TEXTS]
    assert twin.engine_report() | {"cartridge": None} == greedy.engine_report() | {"cartridge": None}


@pytest.mark.parametrize("mode", ["Greedy", "", None, 1, b"greedy", "longest"])
def test_bad_mode(mode, gpt2_like, tmp_path, monkeypatch):
    ways = openers(gpt2_like, tmp_path, monkeypatch) | {"tiktoken": (Tokenizer.from_tiktoken, ("gpt2",))}
    for opener, arguments in ways.values():
        with pytest.raises(ValueError, match="expected 'exact'"):
            opener(*arguments, mode=mode)


# -- survival


THESES = "he", "th", "the", "hes"


def replace_model(tokenizer: Tokenizer, path: Path) -> None:
    vocab = {token: id for id, token in enumerate(["<|endoftext|>", *map(chr, BYTE_LEVEL.values()), *THESES])}
    tokenizer.model = models.BPE(vocab, [("h", "e"), ("he", "s"), ("t", "h"), ("t", "he")])


def set_attribute(tokenizer: Tokenizer, path: Path) -> None:
    tokenizer.model.ignore_merges = True  # type: ignore[attr-defined]


def train(tokenizer: Tokenizer, path: Path) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    tokenizer.train_from_iterator(["zxcv zxc xcv xcv"] * 9, trainer)


CHANGES = {
    "added tokens": lambda t, _: t.add_tokens(["quick", tokenizers.AddedToken("[x]", lstrip=True)]),
    "special tokens": lambda t, _: t.add_special_tokens(["<x>"]),
    "normalizer": lambda t, _: setattr(t, "normalizer", normalizers.Lowercase()),
    "pre-tokenizer": lambda t, _: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "post-processor": lambda t, _: setattr(
        t, "post_processor", processors.TemplateProcessing("a $A", special_tokens=[("a", 64)])
    ),
    "decoder": lambda t, _: setattr(t, "decoder", decoders.ByteLevel()),
    "model": replace_model,
    "model's attribute": set_attribute,
    "training": train,
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(change, gpt2_like):
    """A greedy tokenizer gives, after a change, the ids of the changed tokenizer opened in greedy mode. Exact mode
    gives other ids."""
    both = {mode: Tokenizer.from_file(gpt2_like, mode=mode) for mode in ("greedy", "exact")}
    for tokenizer in both.values():
        CHANGES[change](tokenizer, gpt2_like)
    greedy, exact = both["greedy"], both["exact"]
    assert (greedy.mode, greedy.engine) == ("greedy", "native")
    assert greedy.to_str() == exact.to_str()
    texts = [*TEXTS, "the quick [x] <x> hesitation theses zxcv"]
    again = Tokenizer.from_str(greedy.to_str(), mode="greedy")
    assert [greedy.encode(text).ids for text in texts] == [again.encode(text).ids for text in texts]
    assert [greedy.encode(text).ids for text in texts] != [exact.encode(text).ids for text in texts]
    for twin in (copy.copy(greedy), copy.deepcopy(greedy), pickle.loads(pickle.dumps(greedy))):
        assert twin.mode == "greedy"
        assert [twin.encode(text).ids for text in texts] == [greedy.encode(text).ids for text in texts]
        assert twin.to_str() == greedy.to_str()


@pytest.mark.parametrize("changed", [False, True])
def test_files_have_no_mode(greedy, exact, tmp_path, changed):
    for name, tokenizer in (("greedy", greedy), ("exact", exact)):
        if changed:
            tokenizer.add_tokens(["[x]"])
        tokenizer.save(tmp_path / f"{name}.dat")
        tokenizer.save(tmp_path / f"{name}-alone.json")
    for suffix in (".dat", ".json", "-alone.json"):
        assert (tmp_path / f"greedy{suffix}").read_bytes() == (tmp_path / f"exact{suffix}").read_bytes()
    assert Tokenizer.from_file(tmp_path / "greedy.dat").mode == "exact"
    assert greedy.mode == "greedy"
    again = Tokenizer.from_file(tmp_path / "greedy.dat", mode="greedy")
    assert [again.encode(text).ids for text in TEXTS] == [greedy.encode(text).ids for text in TEXTS]


# -- tokenizers that would be delegated


def test_delegated_has_no_greedy_mode(refusing, wordpiece_like):
    data = wordpiece_like.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is delegated, so no warning is expected
        for name, source in (("from_file", wordpiece_like), ("from_str", data.decode()), ("from_buffer", data)):
            with pytest.raises(UnsupportedError, match="WordPiece"):
                getattr(Tokenizer, name)(source, mode="greedy")


def test_delegated_tiktoken(refusing, gpt2_like, tmp_path):
    path = rank_file(gpt2_like, tmp_path / "small.tiktoken")
    with pytest.raises(UnsupportedError, match="greedy mode"):
        Tokenizer.from_tiktoken(path, pattern="[aeiou]+|[^aeiou]+", special_tokens={}, mode="greedy")


class Reversing:
    def normalize(self, text: tokenizers.NormalizedString) -> None:
        text.map(lambda char: char)


@before_1("components written in Python")
def test_change_that_only_the_reference_can_do(greedy):
    """A change that only the reference supports is refused at the next use. Undoing it makes the tokenizer usable
    again."""
    before = [greedy.encode(text).ids for text in TEXTS]
    greedy.normalizer = normalizers.Normalizer.custom(Reversing())
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="normalizer"):
            greedy.encode("a")
    greedy.normalizer = None
    assert [greedy.encode(text).ids for text in TEXTS] == before
    assert pickle.loads(pickle.dumps(greedy)).mode == "greedy"

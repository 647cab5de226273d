"""`install` for tokenizers and for tiktoken (tests/transformers tests it for transformers)."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from tiktoken import Encoding, encoding_for_model, get_encoding  # imported by name before install()

import crayon_hf
from crayon_hf.formats import tiktoken as conversion
from tests.support.child import said_by

PARTS: dict[str, Any] = {
    "pat_str": conversion.CL100K_PATTERN,
    "mergeable_ranks": {**{bytes([b]): b for b in range(256)}, b"ab": 256, b"abab": 257, b"\xc3\xa9": 258, b" a": 259},
    "special_tokens": {"<|end|>": 300, "<|endoftext|>": 301},
}
TEXT = "abab é a<|end|>ab"


@pytest.fixture
def tiktoken_installed() -> Iterator[None]:
    crayon_hf.install(transformers=False, tiktoken=True)
    yield
    crayon_hf.uninstall()


@pytest.fixture
def tokenizers_installed() -> Iterator[None]:
    crayon_hf.install(transformers=False, tokenizers=True)
    yield
    crayon_hf.uninstall()


def places() -> list[dict[str, Any]]:
    """The attributes of all modules and classes in which `install` replaces some."""
    modules = tiktoken, tiktoken.registry, tiktoken.model, tiktoken.core, tiktoken.core.Encoding, tokenizers.Tokenizer
    return [dict(vars(module)) for module in modules]


def test_only_what_is_asked_for() -> None:
    before = places()
    for library in ("tokenizers", "tiktoken"):
        crayon_hf.install(**{"transformers": False, library: True})
        try:
            assert {name.partition(".")[0] for name in crayon_hf.installed()} == {library}
            assert set(crayon_hf.installed().values()) == {"in place"}
        finally:
            crayon_hf.uninstall()
        assert places() == before


# -- tokenizers


@pytest.mark.usefixtures("tokenizers_installed")
def test_every_opener_of_tokenizers(gpt2_like: Path) -> None:
    text = gpt2_like.read_text(encoding="utf-8")
    opened = (
        tokenizers.Tokenizer.from_file(str(gpt2_like)),
        tokenizers.Tokenizer.from_file(path=str(gpt2_like)),
        tokenizers.Tokenizer.from_str(text),
        tokenizers.Tokenizer.from_buffer(text.encode()),
    )
    for tokenizer in opened:
        assert isinstance(tokenizer, crayon_hf.Tokenizer)
        assert isinstance(tokenizer, tokenizers.Tokenizer)
        assert tokenizer.encode("the word").ids == opened[0].encode("the word").ids
    with pytest.raises(FileNotFoundError):
        tokenizers.Tokenizer.from_file("nowhere")
    assert type(tokenizers.Tokenizer(tokenizers.models.BPE())) is tokenizers.Tokenizer


@pytest.mark.usefixtures("tokenizers_installed")
def test_the_name_of_the_class(gpt2_like: Path) -> None:
    """Our tokenizers have the library's class name, by which chonkie and others identify tokenizers. Copies and pickles
    keep it, even in a process without install()."""
    ours = tokenizers.Tokenizer.from_file(str(gpt2_like))
    ours.enable_truncation(3)
    for each in (ours, copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert str(type(each)) == str(tokenizers.Tokenizer) == "<class 'tokenizers.Tokenizer'>"
        assert (each.encode(TEXT).ids, each.truncation) == (ours.encode(TEXT).ids, ours.truncation)
        assert not hasattr(each, "count_tokens")
        assert crayon_hf.Tokenizer.count_tokens(each, "a") == 1
    code = "import pickle, sys; it = pickle.load(sys.stdin.buffer); print(type(it), it.encode('the word').ids)"
    assert said_by(code, lines=pickle.dumps(ours)) == f"{type(ours)} {ours.encode('the word').ids}"


# -- tiktoken


@pytest.mark.usefixtures("tiktoken_installed")
def test_an_encoding_of_parts() -> None:
    ours = Encoding("small", **PARTS)
    assert isinstance(ours, crayon_hf.tiktoken.Encoding)
    assert isinstance(ours, tiktoken.Encoding)
    assert (type(ours).__module__, type(ours).__qualname__) == ("tiktoken.core", "Encoding")
    twins = [copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))]
    assert all(type(twin) is type(ours) for twin in twins)
    written = pickle.dumps(ours)
    crayon_hf.uninstall()
    stock = Encoding("small", **PARTS)
    assert type(stock) is type(pickle.loads(written)) is tiktoken.Encoding
    assert b"crayon" not in written
    for encoding in (ours, *twins):
        assert encoding.encode(TEXT, allowed_special="all") == stock.encode(TEXT, allowed_special="all")
        assert encoding.encode_batch([TEXT], disallowed_special=()) == stock.encode_batch([TEXT], disallowed_special=())
        assert encoding._encode_single_piece("abab") == stock._encode_single_piece("abab")
        assert (repr(encoding), encoding.eot_token, encoding.n_vocab) == (repr(stock), stock.eot_token, stock.n_vocab)
    crayon_hf.install(tiktoken=True)
    assert isinstance(pickle.loads(pickle.dumps(stock)), crayon_hf.tiktoken.Encoding)


@pytest.mark.usefixtures("tiktoken_installed")
def test_where_our_own_code_takes_the_library() -> None:
    nested = {**PARTS, "special_tokens": {"<|a|>": 300, "<|a|><|b|>": 301}}
    assert Encoding("nested", **nested).encode("ab<|a|>", allowed_special="all") == [256, 300]
    for odd in ({"pat_str": r"\w+|\W+", "special_tokens": {"end": 301}}, {"special_tokens": {"": 300}}):
        with pytest.warns(crayon_hf.DelegatedWarning):
            other = Encoding("other", **{**PARTS, **odd})
        assert type(other) is tiktoken.Encoding
        assert other.encode_ordinary("abab") == [257]
    with pytest.raises(AssertionError):
        Encoding("wrong", **PARTS, explicit_n_vocab=3)
    derived = type("Mine", (Encoding,), {})
    assert not isinstance(derived("mine", **PARTS), crayon_hf.tiktoken.Encoding)


def test_encodings_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    tiktoken.list_encoding_names()
    constructors: Any = tiktoken.registry.ENCODING_CONSTRUCTORS
    monkeypatch.setitem(constructors, "mine", lambda: {"name": "mine", **PARTS})
    monkeypatch.setitem(tiktoken.model.MODEL_TO_ENCODING, "a model", "mine")
    before = get_encoding("mine")
    crayon_hf.install(transformers=False, tiktoken=True)
    try:
        taken = tiktoken.get_encoding
        ours = get_encoding("mine")
        assert isinstance(ours, crayon_hf.tiktoken.Encoding)
        assert taken("mine") is tiktoken.registry.get_encoding("mine") is encoding_for_model("a model") is ours
        assert pickle.loads(pickle.dumps(ours)).__dict__ is ours.__dict__
        assert len(pickle.dumps(ours)) < 200
        for wrong in ("nope", 3):
            with pytest.raises(ValueError, match=r"nope|string"):
                tiktoken.get_encoding(wrong)  # type: ignore[arg-type]
    finally:
        crayon_hf.uninstall()
    assert get_encoding("mine") is taken("mine") is before
    monkeypatch.setitem(constructors, "new", lambda: {"name": "new", **PARTS})
    assert type(taken("new")) is type(pickle.loads(pickle.dumps(before))) is tiktoken.Encoding


PROGRAM = """
import sys, crayon_hf
crayon_hf.install(tokenizers=True, tiktoken=True)
assert not {"transformers", "tiktoken", "tokenizers"} & set(sys.modules)
import tokenizers, tiktoken
from tiktoken import Encoding, get_encoding, encoding_for_model
from crayon_hf.formats.tiktoken import R50K_PATTERN
waiting = {name for name, state in crayon_hf.installed().items() if state != "in place"}
assert {name.partition(".")[0] for name in waiting} == {"transformers"}, crayon_hf.installed()
ours = Encoding("a", pat_str=R50K_PATTERN, mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={})
assert isinstance(ours, crayon_hf.tiktoken.Encoding)
assert isinstance(tokenizers.Tokenizer.from_file(sys.argv[1]), crayon_hf.Tokenizer)
"""


def test_before_the_imports(gpt2_like: Path) -> None:
    said_by(PROGRAM, gpt2_like, PYTHONWARNINGS="ignore")

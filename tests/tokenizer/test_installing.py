"""`install` for tokenizers and for tiktoken, each by its argument (tests/transformers has that for transformers)."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
import transformers
from tiktoken import Encoding, encoding_for_model, get_encoding  # by their names, before anything is installed

import crayon_hf
from crayon_hf.formats import tiktoken as conversion
from crayon_hf.parity.compare.references import TIKTOKEN, find

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
    """Everything that can be replaced there."""
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
        assert tokenizer.encode("the word").ids == opened[0].encode("the word").ids
    with pytest.raises(FileNotFoundError):
        tokenizers.Tokenizer.from_file("nowhere")
    assert type(tokenizers.Tokenizer(tokenizers.models.BPE())) is tokenizers.Tokenizer


def test_an_opener_that_somebody_has_taken(gpt2_like: Path) -> None:
    crayon_hf.install(transformers=False, tokenizers=True)
    try:
        taken = tokenizers.Tokenizer.from_file
        assert isinstance(taken(str(gpt2_like)), crayon_hf.Tokenizer)
    finally:
        crayon_hf.uninstall()
    assert not isinstance(taken(str(gpt2_like)), crayon_hf.Tokenizer)


@pytest.mark.usefixtures("tokenizers_installed")
def test_the_name_of_the_class(gpt2_like: Path) -> None:
    """chonkie and others tell tokenizers by it. Copies and pickles have it too, in a process that installs nothing."""
    ours = tokenizers.Tokenizer.from_file(str(gpt2_like))
    ours.enable_truncation(3)
    for each in (ours, copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert str(type(each)) == str(tokenizers.Tokenizer) == "<class 'tokenizers.Tokenizer'>"
        assert each.encode("the word of it").ids == ours.encode("the word of it").ids
        assert each.truncation == ours.truncation
        assert not hasattr(each, "count_tokens")
        assert crayon_hf.Tokenizer.count_tokens(each, TEXT) == crayon_hf.Tokenizer.from_file(gpt2_like).count_tokens(
            TEXT
        )
    code = "import pickle, sys; it = pickle.load(sys.stdin.buffer); print(type(it), it.encode('the word').ids)"
    said = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(ours), capture_output=True, check=True)
    assert said.stdout.decode().strip() == f"{type(ours)} {ours.encode('the word').ids}"


@pytest.mark.usefixtures("tokenizers_installed")
def test_who_builds_on_the_library_keeps_it(gpt2_like: Path) -> None:
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(gpt2_like))
    assert type(theirs._tokenizer) is tokenizers.Tokenizer
    ours = tokenizers.Tokenizer.from_file(str(gpt2_like))
    ours.normalizer = tokenizers.normalizers.Lowercase()
    assert isinstance(ours.model, tokenizers.models.BPE)
    assert ours.encode("THE").ids == ours.encode("the").ids == theirs("the")["input_ids"]


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
    with pytest.warns(crayon_hf.DelegatedWarning, match="the tiktoken library encodes"):
        other = Encoding("other", **{**PARTS, "pat_str": r"\w+|\W+", "special_tokens": {"end": 301}})
    assert type(other) is tiktoken.Encoding
    assert (other.encode("ababend", allowed_special="all"), other.name, other.n_vocab) == ([257, 301], "other", 302)
    with pytest.warns(crayon_hf.DelegatedWarning, match="it would match everywhere"):
        refused = Encoding("refused", **{**PARTS, "special_tokens": {"": 300}})
    assert type(refused) is tiktoken.Encoding
    assert refused.encode_ordinary("abab") == [257]
    with pytest.raises(AssertionError):
        Encoding("wrong", **PARTS, explicit_n_vocab=3)

    class Mine(Encoding):
        pass

    assert not isinstance(Mine("mine", **PARTS), crayon_hf.tiktoken.Encoding)


def test_encodings_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    tiktoken.list_encoding_names()
    constructors: Any = tiktoken.registry.ENCODING_CONSTRUCTORS
    monkeypatch.setitem(constructors, "mine", lambda: {"name": "mine", **PARTS})
    monkeypatch.setitem(tiktoken.model.MODEL_TO_ENCODING, "a model", "mine")
    before = get_encoding("mine")
    crayon_hf.install(transformers=False, tiktoken=True)
    try:
        taken, opened = tiktoken.get_encoding, vars(tiktoken.Encoding)["__init__"]
        ours = get_encoding("mine")
        assert isinstance(ours, crayon_hf.tiktoken.Encoding)
        for found in (
            tiktoken.get_encoding("mine"),
            tiktoken.registry.get_encoding("mine"),
            encoding_for_model("a model"),
        ):
            assert found is ours
        assert pickle.loads(pickle.dumps(ours)).__dict__ is ours.__dict__
        assert len(pickle.dumps(ours)) < 200
        with pytest.raises(ValueError, match="Unknown encoding nope"):
            tiktoken.get_encoding("nope")
        with pytest.raises(ValueError, match="Expected a string"):
            tiktoken.get_encoding(3)  # type: ignore[arg-type]
    finally:
        crayon_hf.uninstall()
    monkeypatch.delattr(conversion, "find_published_file")  # nobody of ours is asked
    assert get_encoding("mine") is taken("mine") is before
    monkeypatch.setitem(constructors, "new", lambda: {"name": "new", **PARTS})
    assert type(taken("new")) is tiktoken.Encoding
    opened(made := object.__new__(tiktoken.Encoding), "new", **PARTS)
    assert type(made) is tiktoken.Encoding
    assert type(pickle.loads(pickle.dumps(before))) is tiktoken.Encoding


class Wrapper(transformers.PreTrainedTokenizer):
    """A slow tokenizer that holds an encoding of tiktoken, as models' own code has them."""

    def __init__(self, **kwargs: Any) -> None:
        self.model = tiktoken.Encoding("wrapped", **PARTS)
        super().__init__(**kwargs)

    @property
    def vocab_size(self) -> int:
        return self.model.n_vocab

    def get_vocab(self) -> dict[str, int]:
        return {f"token {id}": id for id in range(self.vocab_size)}

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return [f"token {id}" for id in self.model.encode(text, allowed_special="all")]

    def _convert_token_to_id(self, token: str) -> int:
        return int(token.rpartition(" ")[2])

    def _convert_id_to_token(self, index: int) -> str:
        return f"token {index}"


@pytest.mark.usefixtures("tiktoken_installed")
def test_a_slow_tokenizer_that_wraps_an_encoding() -> None:
    ours = Wrapper()
    assert isinstance(ours.model, crayon_hf.tiktoken.Encoding)
    ids = ours(TEXT)["input_ids"]
    crayon_hf.uninstall()
    assert ids == Wrapper()(TEXT)["input_ids"]


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
    subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, str(gpt2_like)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIKTOKEN)
def test_the_published(shared: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = conversion.KNOWN_ENCODINGS[name].file
    cached = tmp_path / conversion.KNOWN_FILES[file].cache_name
    cached.write_bytes(find(file).path.read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    stock = tiktoken.get_encoding(name)
    crayon_hf.install(transformers=False, tiktoken=True)
    try:
        for ours in (tiktoken.get_encoding(name), get_encoding(name)):
            assert isinstance(ours, crayon_hf.tiktoken.Encoding)
            assert ours._tokenizer.engine == "native"
            assert ours.encode("Hello, world") == stock.encode("Hello, world")
        taken = tiktoken.get_encoding
    finally:
        crayon_hf.uninstall()
    assert tiktoken.get_encoding(name) is stock
    monkeypatch.delitem(tiktoken.registry.ENCODINGS, name)
    assert type(taken(name)) is tiktoken.Encoding  # and so in the library's own table

"""The tiktoken face beside tiktoken itself: the same ids, the same rules for special tokens, the same errors."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import DelegatedWarning, MissingExtraError, VocabularyError
from crayon_hf import tiktoken as ours
from crayon_hf.formats import tiktoken as conversion
from crayon_hf.parity.compare.records import has_surrogates
from crayon_hf.parity.compare.references import TIKTOKEN, find, tiktoken_pieces
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.tiktoken import core
from crayon_hf.util.byte_level import BYTE_LEVEL

PATTERNS = {"r50k": conversion.R50K_PATTERN, "cl100k": conversion.CL100K_PATTERN, "o200k": conversion.O200K_PATTERN}
PLAIN = {"<|endoftext|>": 5000, "<|fim|>": 5002, "<|end|>": 5003}
ODD = {"<|endoftext|>": 5000, "end": 5001, "[é]": 5002, "  ": 5003, "<a<": 5004, "<b>": 5005}
NESTED = {"<|endoftext|>": 5000, "<|a|>": 5001, "<|a|><|b|>": 5002, "<|b|>": 5003}
SPECIALS = {"plain": PLAIN, "odd": ODD, "nested": NESTED, "none": {}}

Pair = tuple[ours.Encoding, theirs.Encoding]


@pytest.fixture(scope="module")
def ranks(gpt2_like: Path) -> dict[bytes, int]:
    """The tokens of a small vocabulary, single bytes first, as rank files have them."""
    back = {char: byte for byte, char in BYTE_LEVEL.items()}
    merges = json.loads(gpt2_like.read_bytes())["model"]["merges"]
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [bytes(back[ord(char)] for char in "".join(pair)) for pair in merges]
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}


def both(ranks: dict[bytes, int], pattern: str, specials: dict[str, int]) -> Pair:
    parts: dict[str, Any] = {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": specials}
    return ours.Encoding("small", **parts), theirs.Encoding("small", **parts)


@pytest.fixture(scope="module", params=PATTERNS)
def pair(request: pytest.FixtureRequest, ranks: dict[bytes, int]) -> Pair:
    return both(ranks, PATTERNS[request.param], PLAIN)


@pytest.fixture(scope="module", params=SPECIALS)
def special_pair(request: pytest.FixtureRequest, ranks: dict[bytes, int]) -> Pair:
    return both(ranks, conversion.CL100K_PATTERN, SPECIALS[request.param])


@pytest.fixture(scope="module")
def plain_pair(ranks: dict[bytes, int]) -> Pair:
    return both(ranks, conversion.CL100K_PATTERN, PLAIN)


def outcome(call: Any, *arguments: Any, **named: Any) -> Any:
    """The result, or the class of the error."""
    try:
        return call(*arguments, **named)
    except Exception as error:
        return type(error)


def same(pair: Pair, method: str, *arguments: Any, **named: Any) -> Any:
    said = [outcome(getattr(encoding, method), *arguments, **named) for encoding in pair]
    assert said[0] == said[1], (method, arguments, named)
    return said[0]


TEXTS = [text for _, text in generate(600, 5, specials=tuple(PLAIN))]


# -- encoding


def test_ordinary_text(pair: Pair) -> None:
    for text in TEXTS:
        ids = same(pair, "encode_ordinary", text)
        same(pair, "encode", text, disallowed_special=())
        same(pair, "decode", ids)
    same(pair, "encode_ordinary_batch", TEXTS)
    same(pair, "encode_ordinary_batch", tuple(TEXTS[:50]), num_threads=1)


RULES: list[dict[str, Any]] = [
    {},
    {"allowed_special": "all"},
    {"disallowed_special": ()},
    {"allowed_special": {"<|endoftext|>"}},
    {"allowed_special": {"<|endoftext|>"}, "disallowed_special": ()},
    {"allowed_special": frozenset({"<|end|>", "<b>", "<|a|><|b|>", "not special"}), "disallowed_special": ()},
    {"allowed_special": {"<|a|>", "  ", "end"}, "disallowed_special": {"<|endoftext|>", "word"}},
    {"allowed_special": "all", "disallowed_special": {"<|endoftext|>"}},
    {"allowed_special": set(), "disallowed_special": ["<|fim|>"]},
    {"allowed_special": ["<|endoftext|>"]},
    {"allowed_special": ["<|endoftext|>"], "disallowed_special": ()},
    {"allowed_special": None},
    {"allowed_special": ()},
    {"allowed_special": (), "disallowed_special": ()},
    {"allowed_special": ["<|a|>"], "disallowed_special": ["word"]},
    {"allowed_special": {1}, "disallowed_special": ()},
    {"disallowed_special": ("",)},
    {"disallowed_special": None},
    {"disallowed_special": "xyz"},
]
SPECIAL_TEXTS = [
    "",
    "no special token",
    "<|endoftext|>",
    "a<|endoftext|>b  <|end|>end<|fim|>",
    "<|endoftext|><|endoftext|> <|endoftext",
    "<|a|><|b|><|a|> <|b|>",
    "<a<b>< a<b> <a<a<",
    "x[é]é]  [é]\ud800",
    "<|end|>\ud83d\ude00<|endoftext|>",
    "word <|fim|>",
]


@pytest.mark.parametrize("rules", RULES, ids=[f"rules {i}" for i in range(len(RULES))])  # sets have no order
def test_the_rules_for_special_tokens(special_pair: Pair, rules: dict[str, Any]) -> None:
    for text in SPECIAL_TEXTS:
        same(special_pair, "encode", text, **rules)
        said = [outcome(encoding.encode_to_numpy, text, **rules) for encoding in special_pair]
        if isinstance(said[1], type):
            assert said[0] is said[1] or has_surrogates((text,))  # with two faults, either may be named
        else:
            assert said[0].tolist() == said[1].tolist()
            assert said[0].dtype == np.uint32
            assert not said[0].flags.writeable
        same(special_pair, "encode_batch", [text, "plain", text], **rules)
        same(special_pair, "encode_batch", ["plain", text], **rules)
    same(special_pair, "encode_batch", [], **rules)
    same(special_pair, "encode_batch", [], num_threads=0, **rules)


@given(
    text=st.lists(st.sampled_from([*PLAIN, *ODD, *NESTED, "<", "|", ">", "e", " ", "é", "a b", "word"]), max_size=12),
    allowed=st.sets(st.sampled_from([*PLAIN, *ODD])),
    kind=st.sampled_from(["plain", "odd"]),
)
@settings(max_examples=150, deadline=None)
def test_any_allowed_set(text: list[str], allowed: set[str], kind: str, made: dict[str, Pair]) -> None:
    same(made[kind], "encode", "".join(text), allowed_special=allowed, disallowed_special=())


@pytest.fixture(scope="module")
def made(ranks: dict[bytes, int]) -> dict[str, Pair]:
    return {kind: both(ranks, conversion.CL100K_PATTERN, SPECIALS[kind]) for kind in ("plain", "odd")}


def test_the_message_for_a_disallowed_token(plain_pair: Pair) -> None:
    messages = []
    for encoding in plain_pair:
        with pytest.raises(ValueError, match=r"disallowed special token '<\|end\|>'") as raised:
            encoding.encode("word <|end|>")
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("text", [3, None, b"bytes", ["list"]])
def test_what_is_no_text(plain_pair: Pair, text: Any) -> None:
    for method in ("encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable"):
        assert same(plain_pair, method, text) is TypeError
    assert same(plain_pair, "encode", text, disallowed_special=()) is TypeError
    assert same(plain_pair, "encode_batch", ["a", text]) is TypeError
    assert same(plain_pair, "encode_ordinary_batch", ["a", text]) is TypeError


@pytest.mark.concurrency
def test_odd_batches(plain_pair: Pair) -> None:
    assert same(plain_pair, "encode_batch", "ab") == [[97], [98]]
    assert same(plain_pair, "encode_batch", []) == []
    said = [encoding.encode_batch(text for text in ("words", "c")) for encoding in plain_pair]
    assert said[0] == said[1] != []
    assert same(plain_pair, "encode_ordinary_batch", None) is TypeError
    assert same(plain_pair, "encode_ordinary_batch", ["a"], num_threads=0) is ValueError


def test_unstable(plain_pair: Pair) -> None:
    stable, unstable = plain_pair[0].encode_with_unstable("hello fanta")
    expected = plain_pair[1].encode_with_unstable("hello fanta")
    assert (stable, sorted(unstable)) == (expected[0], sorted(expected[1]))
    assert same(plain_pair, "encode_with_unstable", "x<|end|>") is ValueError


@pytest.mark.parametrize(
    "token",
    ["h", b"\xff", "the", " the", "é", "  ", "end", "<|end|>", b"<|fim|>", "not a token", b"", "\ud800", 3],
)
def test_a_single_token(special_pair: Pair, token: Any) -> None:
    same(special_pair, "encode_single_token", token)


# -- decoding


def test_every_token(special_pair: Pair) -> None:
    highest = special_pair[1].max_token_value
    for id in [*range(0, highest + 3, 7), *range(4998, 5008), -1, 2**32, 2**40]:
        same(special_pair, "decode_single_token_bytes", id)
        same(special_pair, "decode_bytes", [104, id])
        same(special_pair, "decode", [id, 0xE9])
    same(special_pair, "decode_batch", [[104], [300, 0xC3]])
    same(special_pair, "decode_bytes_batch", [[104], (300, 0xC3)], num_threads=2)
    same(special_pair, "decode_batch", [[104], [99999]])


@pytest.mark.parametrize(
    "ids", [[], (104, 105), b"ab", np.array([104, 105]), [np.int64(104)], [True], [None], [1.0], "ab", 3]
)
def test_what_can_be_decoded(plain_pair: Pair, ids: Any) -> None:
    same(plain_pair, "decode_bytes", ids)
    same(plain_pair, "decode", ids)


@pytest.mark.parametrize("odd", [99999, -1, 2**32, 2**40, 2**70, True, None, 1.0, "1", np.int64(104), 5000, 0xC3])
def test_each_of_odd_ids(special_pair: Pair, odd: Any) -> None:
    for ids in ([odd], [104, odd], (104, odd), [104, 105, odd, 106]):
        same(special_pair, "decode_tokens_bytes", ids)
        same(special_pair, "decode_with_offsets", ids)
    same(special_pair, "decode_single_token_bytes", odd)


def test_the_tokens_are_the_callers_own(plain_pair: Pair) -> None:
    expected = plain_pair[1].token_byte_values()
    for _ in range(2):
        found = plain_pair[0].token_byte_values()
        assert found == expected
        found.clear()


def test_an_unknown_id_is_named(plain_pair: Pair) -> None:
    for encoding in plain_pair:
        with pytest.raises(KeyError, match="Invalid token for decoding: 99999"):
            encoding.decode([1, 99999])
        with pytest.raises(KeyError, match="'99999'"):
            encoding.decode_single_token_bytes(99999)


def test_offsets(pair: Pair) -> None:
    for text in TEXTS[:300]:
        same(pair, "decode_with_offsets", pair[1].encode_ordinary(text))
    assert same(pair, "decode_with_offsets", [0xC3]) is UnicodeDecodeError
    assert same(pair, "decode", [0xC3], errors="strict") is UnicodeDecodeError
    assert same(pair, "decode_tokens_bytes", [0xC3, 5000]) == [b"\xc3", b"<|endoftext|>"]


# -- attributes


def test_attributes(special_pair: Pair) -> None:
    for name in ("name", "n_vocab", "max_token_value", "special_tokens_set", "_pat_str", "_special_tokens"):
        assert getattr(special_pair[0], name) == getattr(special_pair[1], name)
    assert repr(special_pair[0]) == repr(special_pair[1]) == "<Encoding 'small'>"
    same(special_pair, "token_byte_values")
    assert outcome(lambda: special_pair[0].eot_token) == outcome(lambda: special_pair[1].eot_token)
    for id in (0, 5000, 5003, "a"):
        if isinstance(id, int):
            same(special_pair, "is_special_token", id)
        else:
            with pytest.raises(AssertionError):
                special_pair[0].is_special_token(id)


def test_copies(special_pair: Pair) -> None:
    encoding = special_pair[0]
    for twin in (pickle.loads(pickle.dumps(encoding)), copy.copy(encoding), copy.deepcopy(encoding)):
        assert twin.encode("the word", allowed_special="all") == encoding.encode("the word")
        assert twin._special_tokens == encoding._special_tokens


def test_parts_that_do_not_fit(ranks: dict[bytes, int]) -> None:
    parts: dict[str, Any] = {"pat_str": conversion.CL100K_PATTERN, "mergeable_ranks": ranks, "special_tokens": {}}
    assert ours.Encoding("fits", **parts, explicit_n_vocab=len(ranks)).n_vocab == len(ranks)
    with pytest.raises(AssertionError):
        ours.Encoding("small", **parts, explicit_n_vocab=5)
    with pytest.raises(ValueError, match="max"):
        ours.Encoding("small", **{**parts, "mergeable_ranks": {}})
    with pytest.raises(VocabularyError, match="two tokens have the same rank"):
        ours.Encoding("small", **{**parts, "mergeable_ranks": {**ranks, b"twice": 0}})
    with pytest.raises(VocabularyError, match="empty"):
        ours.Encoding("small", **{**parts, "special_tokens": {"": 5000}})


def test_ranks_without_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: dict[str, Any] = {
        "pat_str": r"\w+|.",
        "mergeable_ranks": {b"a": 0, b"b": 5, b"ab": 7, b" ": 11},
        "special_tokens": {"<|z|>": 9, "z": 8},
    }
    their = theirs.Encoding("x", **parts)
    with pytest.warns(DelegatedWarning, match="the tiktoken library encodes"):
        our = ours.Encoding("x", **parts)
    for text in ("abbaz", "", "ab ba<|z|>abab z", "a" * 100):
        assert our.encode(text, allowed_special="all") == their.encode(text, allowed_special="all")
        assert our.encode(text, allowed_special="all") == our.encode_batch([text], allowed_special="all")[0]
        assert list(our.encode_to_numpy(text, allowed_special="all")) == their.encode(text, allowed_special="all")
    assert our.encode_ordinary("ab ba") == their.encode_ordinary("ab ba")
    with pytest.raises(ValueError, match="disallowed special token"):
        our.encode("z")
    assert our.decode([7, 11, 9, 8]) == their.decode([7, 11, 9, 8]) == "ab <|z|>z"
    assert (our.n_vocab, our.token_byte_values()) == (their.n_vocab, their.token_byte_values())
    assert our.encode_single_token("ab") == our.encode_single_token(b"ab") == 7
    for wrong in (1, 6, 99):
        with pytest.raises(KeyError):
            our.decode([wrong])
    with pytest.warns(DelegatedWarning):
        assert pickle.loads(pickle.dumps(our)).encode_ordinary("abba") == their.encode_ordinary("abba")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(
        MissingExtraError, match=r"no token is the single byte 0.*python -m pip install '\.\[tiktoken\]'"
    ):
        ours.Encoding("x", **parts)


def test_a_name_of_a_megabyte(ranks: dict[bytes, int]) -> None:
    """More than a cartridge's metadata can be."""
    parts: dict[str, Any] = {"pat_str": conversion.CL100K_PATTERN, "mergeable_ranks": ranks, "special_tokens": {}}
    with pytest.warns(DelegatedWarning, match="metadata of more than"):
        encoding = ours.Encoding("x" * (1 << 20), **parts)
    assert encoding.encode("some words") == theirs.Encoding("x", **parts).encode("some words")


def test_without_the_library(ranks: dict[bytes, int], monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = ours.Encoding("small", pat_str=conversion.CL100K_PATTERN, mergeable_ranks=ranks, special_tokens=NESTED)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert encoding.decode(encoding.encode("some words")) == "some words"
    for call in (lambda: encoding.encode_with_unstable("a"), lambda: encoding.encode("<|a|>", allowed_special="all")):
        with pytest.raises(MissingExtraError, match=r"python -m pip install '\.\[tiktoken\]'"):
            call()


# -- names


def test_names() -> None:
    assert ours.list_encoding_names() == theirs.list_encoding_names()
    for call in (ours.get_encoding, theirs.get_encoding):
        with pytest.raises(ValueError, match=r"^Unknown encoding nope\.\n"):
            call("nope")
        with pytest.raises(ValueError, match="Expected a string in get_encoding, got <class 'int'>"):
            call(3)  # type: ignore[arg-type]


def test_models() -> None:
    from tiktoken import model

    names = [*model.MODEL_TO_ENCODING, *model.MODEL_PREFIX_TO_ENCODING]
    for name in [*names, *(f"{name}-2024-05-13" for name in names), *(f"{name}x" for name in names), "nope", ""]:
        assert outcome(ours.encoding_name_for_model, name) == outcome(theirs.encoding_name_for_model, name), name
    with pytest.raises(KeyError, match="Could not automatically map nope to a tokeniser"):
        ours.encoding_for_model("nope")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TIKTOKEN, "o200k_harmony"])
def test_the_published(shared: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = conversion.KNOWN_ENCODINGS[name].file
    vocabulary = find(file)
    cached = tmp_path / conversion.KNOWN_FILES[file].cache_name
    cached.write_bytes(vocabulary.path.read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(core, "ENCODINGS", {})
    reference = theirs.Encoding(**tiktoken_pieces(name, vocabulary.path))
    encoding = ours.get_encoding(name)
    assert encoding._tokenizer.engine == "native"
    assert ours.get_encoding(name) is encoding
    assert pickle.loads(pickle.dumps(encoding)).encode("word") == encoding.encode("word")
    assert len(pickle.dumps(encoding)) < 200
    pair = (encoding, reference)
    for attribute in ("name", "n_vocab", "max_token_value", "eot_token", "_special_tokens", "_mergeable_ranks"):
        assert getattr(encoding, attribute) == getattr(reference, attribute)
    assert encoding._pat_str == reference._pat_str
    for _, text in generate(400, 9, specials=vocabulary.specials()):
        ids = same(pair, "encode", text, allowed_special="all")
        same(pair, "encode", text, allowed_special={"<|endoftext|>"}, disallowed_special=())
        same(pair, "encode", text)
        same(pair, "decode_bytes", ids)
    for content, id in encoding._special_tokens.items():
        same(pair, "decode_single_token_bytes", id)
        same(pair, "encode", f"a {content}b<|endofprompt|><|reserved_200018|>", allowed_special="all")
    same(pair, "token_byte_values")

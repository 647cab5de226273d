"""`crayon_hf.tiktoken` gives the ids and errors of tiktoken itself, and has its rules for special tokens."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken as theirs

from crayon_hf import DelegatedWarning, MissingExtraError, VocabularyError
from crayon_hf import tiktoken as ours
from crayon_hf.formats import tiktoken as conversion
from crayon_hf.parity.compare.references import TIKTOKEN, Vocabulary, tiktoken_pieces
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.tiktoken import core
from tests.api_fuzz.of_tiktoken import SPECIALS, ranks

Pair = tuple[ours.Encoding, theirs.Encoding]


@pytest.fixture(scope="module", name="ranks")
def _ranks() -> dict[bytes, int]:
    return ranks()


def parts_of(ranks: dict[bytes, int], special_tokens: dict[str, int]) -> dict[str, Any]:
    return {"pat_str": conversion.CL100K_PATTERN, "mergeable_ranks": ranks, "special_tokens": special_tokens}


@pytest.fixture(scope="module", params=SPECIALS, ids=("plain", "odd", "nested", "none"))
def special_pair(request: pytest.FixtureRequest, ranks: dict[bytes, int]) -> Pair:
    parts = parts_of(ranks, request.param)
    return ours.Encoding("small", **parts), theirs.Encoding("small", **parts)


def outcome(call: Any, *arguments: Any, **named: Any) -> Any:
    """The result of a call, or the class of its error. An array becomes its type, list and whether it can change."""
    try:
        found = call(*arguments, **named)
    except Exception as error:
        return type(error)
    return (found.dtype, found.tolist(), found.flags.writeable) if isinstance(found, np.ndarray) else found


def same(pair: Pair, method: str, *arguments: Any, **named: Any) -> Any:
    said = [outcome(getattr(encoding, method), *arguments, **named) for encoding in pair]
    assert said[0] == said[1], (method, arguments, named)
    return said[0]


# -- encoding


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
    {"allowed_special": {"\ud800"}, "disallowed_special": ()},
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
        same(special_pair, "encode_to_numpy", text, **rules)
        same(special_pair, "encode_batch", [text, "plain", text], **rules)
        same(special_pair, "encode_batch", ["plain", text], **rules)
    same(special_pair, "encode_batch", [], **rules)
    same(special_pair, "encode_batch", [], num_threads=0, **rules)


ENCODERS = ("encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable")
DECODERS = ("decode_bytes", "decode", "decode_tokens_bytes", "decode_with_offsets")
NO_TEXTS = (3, None, b"bytes", ["list"])
ODD_IDS = (99999, -1, 2**32, 2**40, 2**70, True, None, 1.0, "1", np.int64(104), 5000, 0xC3)
IDS = [
    *([], (104, 105), b"ab", np.array([104, 105]), [np.int64(104)], [True], "ab", 3),
    *(ids for odd in ODD_IDS for ids in ([odd], [104, odd], (104, odd), [104, 105, odd, 106])),
]
SINGLE = ("h", b"\xff", "the", " the", "é", "  ", "end", "<|end|>", b"<|fim|>", "not a token", b"", "\ud800", 3)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((method, (text,), {}) for method in ENCODERS for text in NO_TEXTS),
    *(("encode", (text,), {"disallowed_special": ()}) for text in NO_TEXTS),
    *((method, (["a", text],), {}) for method in ("encode_batch", "encode_ordinary_batch") for text in NO_TEXTS),
    *(("encode_batch", (texts,), {}) for texts in ("ab", [])),
    ("encode_ordinary_batch", (None,), {}),
    *(("encode_single_token", (token,), {}) for token in SINGLE),
    *((method, (ids,), {}) for method in DECODERS for ids in IDS),
    *(("decode_single_token_bytes", (id,), {}) for id in ODD_IDS),
    *(("is_special_token", (id,), {}) for id in (0, 5000, 5003, "a")),
    *((method, (), {}) for method in ("token_byte_values", "__repr__")),
    *(("encode_ordinary_batch", (["a b", "c"],), {"num_threads": n}) for n in (None, 1, 1.5, 0, -1, "1")),
    *(("decode_batch", ([[97], [98]],), {"num_threads": n}) for n in (None, 1, 1.5, 0, -1, "1")),
]


def test_unstable(special_pair: Pair) -> None:
    for rule in RULES:
        for text in SPECIAL_TEXTS:
            said = [outcome(encoding.encode_with_unstable, text, **rule) for encoding in special_pair]
            # The library gives the completions in any order.
            found = [one if isinstance(one, type) else (one[0], sorted(one[1])) for one in said]
            assert found[0] == found[1], (text, rule)


@pytest.mark.concurrency
def test_odd_arguments(special_pair: Pair) -> None:
    for method, arguments, named in CALLS:
        same(special_pair, method, *arguments, **named)
    for id in [*range(0, special_pair[1].max_token_value + 3, 7), *range(4998, 5008)]:
        same(special_pair, "decode_single_token_bytes", id)
    same(special_pair, "decode_bytes_batch", [[104], (300, 0xC3)], num_threads=2)
    special_pair[0].token_byte_values().clear()  # it is the caller's own
    same(special_pair, "token_byte_values")
    said = [encoding.encode_batch(text for text in ("words", "c")) for encoding in special_pair]
    assert said[0] == said[1] != []


@pytest.mark.parametrize("of_the_class", [True, False])
def test_replaced_methods(ranks: dict[bytes, int], of_the_class: bool) -> None:
    said = []
    parts = parts_of(ranks, SPECIALS[0])
    for encoding in (ours.Encoding("small", **parts), theirs.Encoding("small", **parts)):
        kind: Any = type(encoding)
        replaced = {
            "encode": lambda self, text, kind=kind, **rules: [0, *kind.encode(self, text, **rules)],
            "encode_ordinary": lambda self, text, kind=kind: [1, *kind.encode_ordinary(self, text)],
        }
        one: Any = encoding
        if of_the_class:
            one.__class__ = type("Derived", (kind,), replaced)
        else:
            for name, function in replaced.items():
                setattr(one, name, function.__get__(one))
        rules = {"allowed_special": "all", "disallowed_special": ()}
        said.append(
            [
                one.encode_batch(["words", "x<|end|>"], **rules),
                one.encode_ordinary_batch(("words", "x")),
                outcome(one.encode_batch, ["words", "x<|end|>"]),
                outcome(one.encode_ordinary_batch, ["x"], num_threads=0),
            ]
        )
    assert said[0] == said[1]
    assert said[0][0][0][0] == 0
    assert said[0][1][0][0] == 1


def test_a_core_that_a_program_assigns(ranks: dict[bytes, int]) -> None:
    """A program keeps some ranks, and makes the library's core of them. The encoding then is the library's."""
    parts: dict[str, Any] = {"pat_str": conversion.CL100K_PATTERN, "mergeable_ranks": ranks}
    few = dict(list(ranks.items())[:270])
    tiktoken: Any = theirs
    encodings: list[Any] = [module.Encoding("small", **parts, special_tokens=SPECIALS[0]) for module in (ours, theirs)]
    said = []
    for encoding in encodings:
        encoding._mergeable_ranks = few
        core = tiktoken._tiktoken.CoreBPE(few, encoding._special_tokens, encoding._pat_str)
        if encoding is encodings[0]:
            with pytest.warns(DelegatedWarning, match="_core_bpe"):
                encoding._core_bpe = core
        else:
            encoding._core_bpe = core
        assert type(encoding) is theirs.Encoding
        assert encoding._core_bpe is core
        ids = encoding.encode("the words<|endoftext|>", allowed_special="all")
        said.append(
            (ids, encoding.decode(ids), encoding.encode_ordinary_batch(["the"]), encoding.n_vocab, encoding.name)
        )
        said[-1] += (len(encoding._mergeable_ranks), copy.deepcopy(encoding).encode("words"))
    assert said[0] == said[1]


# -- decoding


def test_parts_that_do_not_fit(ranks: dict[bytes, int]) -> None:
    parts = parts_of(ranks, {})
    assert ours.Encoding("fits", **parts, explicit_n_vocab=len(ranks)).n_vocab == len(ranks)
    with pytest.raises(AssertionError):
        ours.Encoding("small", **parts, explicit_n_vocab=5)
    with pytest.raises(ValueError, match="max"):
        ours.Encoding("small", **{**parts, "mergeable_ranks": {}})
    with pytest.raises(VocabularyError, match="two tokens have the same rank"):
        ours.Encoding("small", **{**parts, "mergeable_ranks": {**ranks, b"twice": 0}})
    with pytest.raises(VocabularyError, match="empty"):
        ours.Encoding("small", **{**parts, "special_tokens": {"": 5000}})


class Number:
    """A number that only has ``__index__``."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


NUMBERS = [-1, -(2**40), 2**32 - 2, 2**32 - 1, 2**32, 2**63, 2**70, True, 1.0, 1.5, float("nan"), "1", None, b"1", [1]]
NUMBERS += [np.int64(5000), np.int64(-1), np.uint32(5000), np.float32(1), Number(5000), Number(-1), 5000]


@pytest.mark.parametrize("number", NUMBERS, ids=[f"{type(one).__name__} {i}" for i, one in enumerate(NUMBERS)])
def test_every_number_as_the_library_takes_it(ranks: dict[bytes, int], number: Any) -> None:
    """For each kind of number in its parts, an encoding gives the library's results or error. `ours` raises
    VocabularyError if the library panics."""

    def said(module: Any, ranks: Any, specials: Any, **more: Any) -> Any:
        encoding = module.Encoding(
            "x", pat_str=conversion.R50K_PATTERN, mergeable_ranks=ranks, special_tokens=specials, **more
        )
        found = [encoding.encode("a b<s>", allowed_special="all"), encoding.max_token_value, encoding.n_vocab]
        for call in (encoding.decode_single_token_bytes, encoding.is_special_token):
            found.append(outcome(call, number))
        for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
            found.append(outcome(getattr(encoding, name), [97, number]))
        return [*found, outcome(encoding.decode_batch, [[number]]), outcome(encoding.encode_single_token, "<s>")]

    cases: list[tuple[Any, Any, dict[str, Any]]] = [
        *((ranks, {content: number}, {}) for content in ("<s>", b"<s>", 1, None, ("<s>",))),
        *(({**ranks, token: number}, {}, {}) for token in (b"a b", "a b", 1, None, (97, 32, 98), (97, 300), (97, -1))),
        (ranks, {}, {"explicit_n_vocab": number}),
        (ranks, {}, {"explicit_n_vocab": None}),
    ]
    for case in cases:
        found = outcome(said, ours, case[0], case[1], **case[2])
        if found is VocabularyError:
            with pytest.raises(BaseException, match="must be of equal length"):
                said(theirs, case[0], case[1], **case[2])
            continue
        expected = outcome(said, theirs, case[0], case[1], **case[2])
        assert found == expected, case[1:]
        assert not isinstance(found, list) or list(map(type, found[0])) == [int] * len(found[0])


@pytest.mark.parametrize("parts", [{"mergeable_ranks": []}, {"special_tokens": []}, {"special_tokens": None}])
def test_parts_of_other_types(ranks: dict[bytes, int], parts: dict[str, Any]) -> None:
    whole = parts_of(ranks, {}) | parts
    expected, found = (outcome(module.Encoding, "x", **whole) for module in (theirs, ours))
    assert found == expected


def test_ranks_without_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: dict[str, Any] = {
        "pat_str": r"\w+|.",
        "mergeable_ranks": {b"a": 0, b"b": 5, b"ab": 7, b" ": 11},
        "special_tokens": {"<|z|>": 9, "z": 8},
    }
    with pytest.warns(DelegatedWarning, match="tiktoken library"):
        pair = ours.Encoding("x", **parts), theirs.Encoding("x", **parts)
    for text in ("abbaz", "", "ab ba<|z|>abab z", "a" * 100):
        same(pair, "encode", text, allowed_special="all")
        same(pair, "encode", text)
        same(pair, "encode_batch", [text], allowed_special="all")
    for ids in ([7, 11, 9, 8], [1], [6], [99]):
        same(pair, "decode", ids)
    same(pair, "token_byte_values")
    same(pair, "encode_single_token", "ab")
    same(pair, "encode_ordinary", "ab ba")
    assert pair[0].n_vocab == pair[1].n_vocab
    with pytest.warns(DelegatedWarning):
        assert pickle.loads(pickle.dumps(pair[0])).encode_ordinary("abba") == pair[1].encode_ordinary("abba")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingExtraError, match="no token is the single byte 0"):
        ours.Encoding("x", **parts)


def test_a_name_of_a_megabyte(ranks: dict[bytes, int]) -> None:
    """An encoding whose name exceeds the limit of a cartridge's metadata is delegated to tiktoken."""
    parts = parts_of(ranks, {})
    with pytest.warns(DelegatedWarning, match="metadata of more than"):
        encoding = ours.Encoding("x" * (1 << 20), **parts)
    assert encoding.encode("some words") == theirs.Encoding("x", **parts).encode("some words")


def test_without_the_library(ranks: dict[bytes, int], monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = ours.Encoding("small", **parts_of(ranks, SPECIALS[2]))
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


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TIKTOKEN, "o200k_harmony"])
def test_the_published(shared: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = conversion.KNOWN_ENCODINGS[name].file
    path = shared / "vocab" / file / f"{file}.tiktoken"
    vocabulary = Vocabulary(file, "tiktoken", path, encoding=file)
    (tmp_path / conversion.KNOWN_FILES[file].cache_name).write_bytes(vocabulary.path.read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(core, "ENCODINGS", {})
    pair = ours.get_encoding(name), theirs.Encoding(**tiktoken_pieces(name, vocabulary.path))
    assert ours.get_encoding(name) is pair[0]
    assert len(pickle.dumps(pair[0])) < 200
    for attribute in ("name", "n_vocab", "max_token_value", "eot_token", "_special_tokens", "_pat_str"):
        assert getattr(pair[0], attribute) == getattr(pair[1], attribute)
    for _, text in generate(400, 9, specials=vocabulary.specials()):
        ids = same(pair, "encode", text, allowed_special="all")
        same(pair, "encode", text)
        same(pair, "decode_bytes", ids)
    same(pair, "token_byte_values")

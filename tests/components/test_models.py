"""Models on text: tokens, offsets and refusals equal those of ``tokenizers`` for every model, option and vocabulary."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from parity.components.models import make_model, model_names, training_text
from tests.support import reference_impl

Model = dict[str, Any]
Token = tuple[int, str, tuple[int, int]]

UNIGRAM: Model = {"type": "Unigram", "unk_id": 0, "byte_fallback": False}
WORD_PIECE: Model = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
WORD_LEVEL: Model = {"type": "WordLevel", "unk_token": "[UNK]"}
BPE: Model = reference_impl.byte_level_document()["model"]
BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]


def text_of(model: Model) -> str:
    return json.dumps(model, ensure_ascii=False)


def reference(model: Model | str) -> tokenizers.Tokenizer:
    text = model if isinstance(model, str) else text_of(model)
    rest = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    head = '{"version":"1.0","added_tokens":[],' + "".join(f'"{name}":null,' for name in rest)
    return tokenizers.Tokenizer.from_str(head + f'"model":{text}}}')


def reference_tokens(tokenizer: tokenizers.Tokenizer, piece: str) -> list[Token] | None:
    """The tokens that ``tokenizers`` makes of a piece, or None if it fails to encode the piece."""
    try:
        return [(t.id, t.value, t.offsets) for t in tokenizer.model.tokenize(piece)]
    except Exception:
        return None


def our_tokens(ours: _core.TextModel, piece: str) -> list[Token] | None:
    try:
        tokens: list[Token] = ours.tokenize(piece)
    except VocabularyError:
        return None
    return tokens


def check(model: Model, *pieces: str) -> None:
    """Check that the engine and ``tokenizers`` load the model and give the same tokens for each piece, twice: the
    second time from the thread's cache."""
    theirs, ours = reference(model), _core.TextModel(text_of(model))
    assert len(ours) == theirs.get_vocab_size(False)
    written = json.loads(theirs.to_str())["model"]
    assert json.loads(ours.options) == {k: v for k, v in written.items() if k not in ("vocab", "merges")}
    for piece in pieces * 2:
        assert our_tokens(ours, piece) == reference_tokens(theirs, piece), piece


def without(model: Model, *names: str) -> Model:
    return {name: value for name, value in model.items() if name not in names}


def ids(*tokens: str) -> dict[str, int]:
    return {token: i for i, token in enumerate(tokens)}


def bpe(tokens: list[str], merges: list[Any], **options: object) -> Model:
    return {**BPE, **options, "vocab": ids(*tokens), "merges": merges}


# ---- trained models, on usual and on hostile text


def hostile(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    chars = [*"aeth ▁<>0x41##é", "\0", "\u0301", "\u200d", "語", "ﬁ", "👩", "\U0010ffff", "\ud7ff", "\ue000", "\n"]
    pieces = ["".join(rng.choices(chars, k=rng.randint(1, 40))) for _ in range(count)]
    return [*pieces, "a" * 5000, "the" * 2000, "\U0010ffff" * 999, "語" * 3000, "".join(training_text())[:9000]]


@pytest.mark.parametrize("name", [name for name in model_names() if "dropout" not in name])
def test_trained(name: str) -> None:
    words = " ".join(training_text()).split()[:400]
    try:
        check(make_model(name), *words, *("▁" + word for word in words), *hostile(1))
    except UnsupportedError:
        assert "suffix, byte_fallback" in name or "clash" in name


# ---- missing and wrong fields

TINY = {
    "BPE": bpe(["<unk>", "a", "b", "ab"], ["a b"]),
    "WordPiece": {**WORD_PIECE, "vocab": ids("[UNK]", "a", "##b", "ab")},
    "WordLevel": {**WORD_LEVEL, "vocab": ids("[UNK]", "a", "b")},
    "Unigram": {**UNIGRAM, "vocab": [["<unk>", 0.0], ["a", -1], ["b", -1.5], ["ab", -2.25]]},
}
WRONG: list[object] = [None, "x", 1, -1, 99, 2.0, 0.5, True, [], {}, ["a"], {"a": 1}]


@pytest.mark.parametrize("name", TINY)
def test_fields(name: str) -> None:
    """A model with a field missing or of another type, with and without the field `type`, is read as ``tokenizers``
    does."""
    accepted = refused = 0
    variants = [without(TINY[name], *names) for key in TINY[name] for names in ((key,), (key, "type"))]
    for key in TINY[name]:
        variants += [{**TINY[name], key: value} for value in WRONG]
        variants += [{**without(TINY[name], "type"), key: value} for value in WRONG if key != "type"]
    for model in variants:
        try:
            theirs = reference(model)
        except Exception:
            refused += 1
            with pytest.raises(VocabularyError):
                _core.TextModel(text_of(model))
            continue
        accepted += 1
        try:
            ours = _core.TextModel(text_of(model))
        except UnsupportedError:
            continue
        assert json.loads(ours.options)["type"] == type(theirs.model).__name__
        if model.get("dropout") in (None, 0, 1):
            check(model, "ab", "ba", "aab", "x", "axxb", "q")
    assert accepted > 2
    assert refused > 10


_MERGES: list[list[Any]] = [
    *(["a b", ["a", "b"]], [["a", "b"], "a b"], ["#version: 0.2", "a b"], ["#versionx y z w", "a b"]),
    *(["a b", "#version", "ab a"], [["#version", "b"]], ["a  b"], ["a"], ["a b a"], [["a"]], [["a", "b", "a"]]),
    *(["a z"], ["z a"], ["b a"], [["a", "b"], ["ab", "a"], ["a", "b"]], ["ab a", "b a", "a b"], [["a", 1]]),
    *(["\u3000a b"], [" b"], ["a "], [[], []]),
]
ODD: list[Model | str] = [
    *({**TINY["BPE"], "dropout": dropout} for dropout in (-0.1, 1.0000001, 1e40, -1e-50, 0.0, 1, 1e-50)),
    *(bpe(["<unk>", "a", "b", "ab", "aba"], merges) for merges in _MERGES),
    {**TINY["WordLevel"], "vocab": {"a": 70, "[UNK]": 3, "": 9}},
    '{"type":"WordLevel","unk_token":"a","vocab":{"a":5,"b":1,"a":0}}',
]


@pytest.mark.parametrize("model", ODD, ids=range(len(ODD)))
def test_odd_models(model: Model | str) -> None:
    try:
        theirs = reference(model)
    except Exception:
        with pytest.raises(VocabularyError):
            _core.TextModel(model if isinstance(model, str) else text_of(model))
        return
    ours = _core.TextModel(model if isinstance(model, str) else text_of(model))
    for piece in ("ab", "aba", "abaab", "bab", "xabx", "a", "b"):
        assert our_tokens(ours, piece) == reference_tokens(theirs, piece)


def test_what_is_not_native_is_said_to_be_so() -> None:
    for model in (
        {**TINY["WordLevel"], "vocab": {"a": 1, "b": 1}},
        {**TINY["WordLevel"], "vocab": {"a": 2**21}},
        {**TINY["WordLevel"], "vocab": {"a": 2**20}},
        bpe(["a", "ab", "##"], [["a", "##"]], continuing_subword_prefix="##"),
        bpe(["a"], [], byte_fallback=True, end_of_word_suffix="</w>"),
    ):
        reference(model)
        with pytest.raises(UnsupportedError):
            _core.TextModel(text_of(model))


# ---- BPE, option by option


def test_bpe_dropout_is_distributed_like_the_references() -> None:
    words = ["a" * 2**i for i in range(6)] + ["b", "ab", "abab"]
    merges = [["a" * 2**i] * 2 for i in range(5)] + [["a", "b"], ["ab", "ab"]]
    for dropout in (0.1, 0.5, 0.9):
        model = bpe(words, merges, dropout=dropout)
        theirs, ours = reference(model), _core.TextModel(text_of(model))
        for piece in ("a" * 32, "ab" * 10 + "a" * 10):
            want = sum(len(theirs.model.tokenize(piece)) for _ in range(400)) / 400
            got = sum(ours.count(piece) for _ in range(400)) / 400
            # Standard errors are below 0.2 here.
            assert math.isclose(want, got, abs_tol=1.2), (dropout, piece)
            assert "".join(value for _, value, _ in ours.tokenize(piece)) == piece


def test_unigram_ties_and_huge_scores() -> None:
    flat = [["<unk>", 0.0], *([t, -1.0] for t in ("a", "b", "aa", "ab", "ba", "bb", "aab", "abb"))]
    sums = [["<unk>", 0.0], ["a", -0.1], ["aa", -0.2], ["aaa", -0.3], ["aaaa", -0.4], ["aaaaa", -0.5]]
    huge = [["<unk>", -1.7e308], ["a", -1.7e308], ["b", 1.7e308], ["bb", 1.7e308], ["aa", -1.7e308]]
    small = [["<unk>", 5e-324], ["a", -5e-324], ["aa", -1e-323], ["b", 0.0], ["bb", -0.0]]
    pieces = ["".join(random.Random(i).choices("abx", k=1 + i % 25)) for i in range(100)]
    for vocab in (flat, sums, huge, small):
        check({**UNIGRAM, "vocab": vocab}, *pieces, "a" * 50)


def number_text(rng: random.Random) -> str:
    digits = "".join(rng.choices("0123456789", k=rng.randint(1, 26)))
    forms = (
        repr(-rng.random() * 15),
        repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300)),
        f"{rng.randint(1, 9)}{digits}.{digits[::-1]}",
        f"-0.{'0' * rng.randint(0, 30)}{digits}e{rng.randint(-320, 300)}",
        f"{rng.randint(0, 9)}.{digits}E+{rng.randint(0, 250)}",
    )
    return rng.choice(forms)


def test_unigram_scores_are_read_as_the_reference_reads_them() -> None:
    """``tokenizers`` does not read every score as the nearest double, and the difference decides ties."""
    rng = random.Random(5)
    texts = [number_text(rng) for _ in range(4000)]
    scores = ",".join(f'["{i}",{text}]' for i, text in enumerate(texts))
    model = f'{{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[{scores}]}}'
    want = [score for _, score in json.loads(reference(model).to_str())["model"]["vocab"]]
    assert want != [float(text) for text in texts]
    cartridge = _core.TextModel(model).cartridge
    assert struct.pack(f"<{len(want) + 1}d", *want, min(want)) in cartridge


# ---- anything at all

LETTERS = st.sampled_from([*"abcx▁#<", "é", "語", "👩", "\0", "\u0301"])
STRINGS = st.text(LETTERS, min_size=1, max_size=12)
PIECES = st.lists(st.one_of(st.text(LETTERS, min_size=1, max_size=60), st.text(min_size=1)), min_size=1, max_size=8)
SCORES = st.one_of(st.floats(-20, 5), st.sampled_from([0.0, -1.0, -2.0, -0.5, -1.5]))


@st.composite
def bpe_models(draw: st.DrawFn) -> Model:
    prefix, suffix = draw(st.sampled_from([(None, None)] * 6 + [("#", None), (None, "<"), ("##", "</w>"), ("", "")]))
    fallback = draw(st.booleans()) and not prefix and not suffix
    letters = draw(st.lists(LETTERS, min_size=1, max_size=7, unique=True))
    tokens = [f"{p}{c}{s}" for c in letters for p in {"", prefix or ""} for s in {"", suffix or ""}]
    tokens += ["<unk>"] + (BYTE_TOKENS if draw(st.booleans()) else BYTE_TOKENS[:0x79]) * fallback
    tokens = list(dict.fromkeys(tokens))
    rng = random.Random(draw(st.integers(0, 2**32)))
    merges = []
    for _ in range(draw(st.integers(0, 30))):
        left, right = rng.choice(tokens[:40]), rng.choice(tokens[:40] if rng.random() < 0.5 else tokens[-10:])
        if len(right) <= len(prefix or "") or not right.startswith(prefix or ""):
            continue
        product = left + right[len(prefix or "") :]
        if len(product) > 30:
            continue
        merges.append([left, right])
        if product not in tokens:
            tokens.append(product)
    rng.shuffle(merges)
    if draw(st.booleans()):
        rng.shuffle(tokens)
    return bpe(
        tokens,
        merges,
        unk_token=draw(st.sampled_from([None, "<unk>", "<unk>", tokens[0], "<nope>"])),
        fuse_unk=draw(st.booleans()),
        byte_fallback=fallback,
        ignore_merges=draw(st.booleans()),
        continuing_subword_prefix=prefix,
        end_of_word_suffix=suffix,
        dropout=draw(st.sampled_from([None, None, None, 0.0, 1.0])),
    )


@st.composite
def other_models(draw: st.DrawFn) -> Model:
    tokens = draw(st.lists(STRINGS, max_size=30, unique=True))
    kind = draw(st.sampled_from(["WordPiece", "WordLevel", "Unigram"]))
    if kind == "Unigram":
        vocab = [["<unk>", draw(SCORES)], *([token, draw(SCORES)] for token in tokens)]
        fallback = draw(st.booleans())
        vocab += [[token, -3.0] for token in BYTE_TOKENS] * (fallback and draw(st.booleans()))
        unk_id = draw(st.sampled_from([None, 0, 0, 0, len(vocab) - 1]))
        return {**UNIGRAM, "vocab": vocab, "unk_id": unk_id, "byte_fallback": fallback}
    prefix = draw(st.sampled_from(["##", "#", "", "é"]))
    tokens = list(dict.fromkeys(["[UNK]", *tokens, *(prefix + t for t in tokens[::2])]))
    unk = draw(st.sampled_from(["[UNK]", "[UNK]", "nope", tokens[-1]]))
    if kind == "WordLevel":
        return {**WORD_LEVEL, "vocab": ids(*tokens), "unk_token": unk}
    most = draw(st.sampled_from([3, 10, 100]))
    return {
        **WORD_PIECE,
        "vocab": ids(*tokens),
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": most,
    }


@settings(max_examples=150, deadline=None)
@given(bpe_models(), PIECES)
def test_any_bpe(model: Model, pieces: list[str]) -> None:
    tokens = list(model["vocab"])
    check(model, *pieces, *(t for t in tokens[:10] if t), "".join(tokens)[:300], "".join(pieces))


@settings(max_examples=150, deadline=None)
@given(other_models(), PIECES)
def test_any_other(model: Model, pieces: list[str]) -> None:
    tokens = [t if isinstance(t, str) else t[0] for t in model["vocab"]]
    check(model, *pieces, *(t for t in tokens[:10] if t), "".join(tokens)[:300], "".join(pieces))

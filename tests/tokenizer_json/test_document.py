"""A tokenizer.json is what the library writes; scores stay, though it reads one in four spellings as a neighbour."""

from __future__ import annotations

import base64
import json
import math
import warnings
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers

from crayon_hf import DelegatedWarning, Tokenizer, _core
from crayon_hf.cartridges.source_json import compile_json
from crayon_hf.errors import VocabularyError
from crayon_hf.parity.compare.records import Outcome, attempt
from crayon_hf.tokenizer_json import document as tokenizer_json
from parity.components.cases import single_cases
from tests.support.versions import since

ANY = st.floats(-30, -0.001) | st.integers(-30, 0).map(float)


def has_small_significand(score: float) -> bool:
    return 2 * abs(math.frexp(score)[0]) <= 1.8


SCORES = ANY.filter(has_small_significand)
ODD = [-2.0122928619384766, -12.130167007446289, -3.9598512649536133, 0.0, -0.1, -17.000000000000004]


def read(text: str) -> float:
    """As the library reads it, and as Python does: they must not differ."""
    (ours,) = json.loads(_core.json_normalize(f"[{text}]".encode()))
    assert ours == float(text)
    return float(ours)


def spell(score: float) -> str:
    (text,) = _core.spell_scores([score])
    return text


def as_the_library_reads(text: str) -> float:
    """The digits, scaled by a power of ten."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    exponent = int(power or 0) - len(fraction)
    digits = float(int(whole + fraction))
    value = digits * float(f"1e{exponent}") if exponent >= 0 else digits / float(f"1e{-exponent}")
    return -value if mantissa.startswith("-") else value


def plain_spelling(score: float) -> str | None:
    """An integer that is a double, over a power of ten that is one; None where the usual spelling does."""
    if as_the_library_reads(repr(score)) == score:
        return None
    for power in range(1, 23):
        whole = score * 10.0**power
        if abs(whole) >= 2.0**64:
            break
        for near in (float(round(whole)), math.nextafter(whole, -math.inf), math.nextafter(whole, math.inf)):
            if near.is_integer() and near / 10.0**power == score:
                return f"{int(near)}e-{power}"
    return None


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=20))
def test_spellings_as_the_plain_way_makes_them(scores: list[float]) -> None:
    vocab: list[tuple[str, float]] = [(f"{i}", score) for i, score in enumerate(scores)]
    library = tokenizers.Tokenizer(models.Unigram(vocab, 0, False)).to_str()
    usual = [text for _, text in json.loads(library, parse_float=str)["model"]["vocab"]]
    wanted = [plain_spelling(score) or text for score, text in zip(scores, usual, strict=True)]
    assert _core.spell_scores(scores) == wanted
    exact = _core.with_exact_scores(library.encode()).decode()
    assert exact == tokenizer_json.dump(json.loads(library))
    assert [text for _, text in json.loads(exact, parse_float=str, parse_int=str)["model"]["vocab"]] == wanted


@given(st.lists(ANY, max_size=5))
def test_settled_scores_are_read_back_as_they_are_spelled(scores: list[float]) -> None:
    settled = _core.settle_scores(scores)
    assert [as_the_library_reads(text) for text in _core.spell_scores(settled)] == settled
    for score, near in zip(scores, settled, strict=True):
        assert near == score or plain_spelling(score) is None


def test_what_has_no_scores_is_left_as_it_is() -> None:
    for text in (b'{"model":{"type":"BPE"}}', b' {"model": {"type": "Unigram", "vocab": {"a": 1}}}', b'["Unigram"]'):
        assert _core.with_exact_scores(text) == text
    with pytest.raises(VocabularyError, match="invalid JSON"):
        _core.with_exact_scores(b'"Unigram" {')
    small = json.loads(_core.with_exact_scores(b'{"model":{"type":"Unigram","vocab":[["a",-0.0],["b",1e-7]]}}'))
    assert str(small["model"]["vocab"]) == "[['a', -0.0], ['b', 1e-07]]"


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(SCORES)
def test_a_spelling_that_every_reader_takes_alike(score: float) -> None:
    assert read(spell(score)) == score


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(ANY)
def test_never_further_than_a_neighbour(score: float) -> None:
    (ours,) = json.loads(_core.json_normalize(f"[{spell(score)}]".encode()))
    assert ours in (score, math.nextafter(score, 0), math.nextafter(score, -math.inf))


def test_odd_scores() -> None:
    for score in ODD:
        assert read(spell(score)) == score
    assert any(spell(score) != repr(score) for score in ODD)


@settings(max_examples=100, deadline=None)
@given(st.lists(SCORES, min_size=4, max_size=12))
def test_a_living_unigram_model_keeps_its_scores(scores: list[float]) -> None:
    vocab = [("<unk>", 0.0), *((chr(0x61 + i // 3) * (i % 3 + 1), score) for i, score in enumerate(scores))]
    reference = tokenizers.Tokenizer(models.Unigram(vocab, 0, False))
    ours = Tokenizer.from_tokenizers(reference)
    assert ours.to_str() == reference.to_str()
    assert ours.to_str(True) == reference.to_str(True)
    for text in ("aaaaaaaaaa", "bbbaaaccca", "abcabcaabbcc"):
        assert ours.encode(text).ids == reference.encode(text).ids
    opened = tokenizers.Tokenizer.from_str(reference.to_str())
    assert Tokenizer.from_str(reference.to_str()).to_str() == opened.to_str()


NUMBERS = st.floats(-1e300, 1e300) | st.floats(-1e-3, 1e-3) | st.integers(-(10**18), 10**18).map(float)
TEXTS = st.text(st.sampled_from('ab"\\/\n\x1f\x7f é𝄞\u2028'), max_size=4)


def model_of(vocab: list[tuple[str, float]] | dict[str, int], **more: Any) -> bytes:
    kind = "Unigram" if isinstance(vocab, list) else "BPE" if "merges" in more else "WordLevel"
    return json.dumps({"model": {"type": kind, "vocab": vocab, **more}}).encode()


@since((0, 23), "writes 1e16 as 1e+16")
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(TEXTS, NUMBERS), min_size=1, max_size=8))
def test_scores_are_written_as_the_library_writes_them(vocab: list[tuple[str, float]]) -> None:
    reference = tokenizers.Tokenizer.from_buffer(model_of(vocab, unk_id=0))
    ours = Tokenizer.from_buffer(model_of(vocab, unk_id=0))
    for pretty in (False, True):
        assert ours.to_str(pretty) == reference.to_str(pretty)


def test_components_are_written_as_the_library_writes_them() -> None:
    """With what their file leaves out, and without what it has in vain."""
    compared = 0
    for case in single_cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DelegatedWarning)
            ours, reference = (attempt(one.from_str, case.json) for one in (Tokenizer, tokenizers.Tokenizer))
        if not isinstance(ours, Outcome) and not isinstance(reference, Outcome):
            compared += 1
            assert ours.to_str() == reference.to_str(), case.name
    assert compared > 700


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=12, unique=True), st.randoms(use_true_random=False))
def test_tokens_are_written_as_the_library_writes_them(tokens: list[str], random: Random) -> None:
    ids = random.sample(range(30), len(tokens))
    source = model_of(dict(zip(tokens, ids, strict=True)), unk_token=tokens[0])
    for pretty in (False, True):
        assert Tokenizer.from_buffer(source).to_str(pretty) == tokenizers.Tokenizer.from_buffer(source).to_str(pretty)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(TEXTS, NUMBERS), min_size=1, max_size=8), st.booleans())
def test_a_vocabulary_of_the_engine_is_that_of_its_source(vocab: list[tuple[str, float]], pretty: bool) -> None:
    ids = {token: 3 * id for id, (token, _) in enumerate(vocab)}
    for source in (model_of(vocab, unk_id=0), model_of(ids, unk_token=vocab[0][0])):
        engine = _core.Engine.from_bytes(compile_json(source))
        assert (engine.vocabulary_json(pretty), None) == _core.model_text(source, pretty)


CHARSMAPS = [b"charsmap", b"", b"a\0", b"charsmap", b"x"]
"""Two of them are what stands for a charsmap while the library writes the rest."""


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_charsmaps_are_written_as_the_library_writes_them(count: int) -> None:
    texts = [base64.b64encode(bytes(4) + CHARSMAPS[i]).decode() for i in range(count)]
    maps = [{"type": "Precompiled", "precompiled_charsmap": text} for text in texts]
    ignored = {"type": "NFC", "precompiled_charsmap": "AAAAAHg=", "normalizers": maps}
    steps = [ignored, ignored | {"type": "Lowercase"}]
    normalizer = {"type": "Sequence", "normalizers": [*steps, {"type": "Sequence", "normalizers": maps}]}
    token = {"id": 1, "content": '"precompiled_charsmap":"AAAAAGNoYXJzbWFw"', "special": True} | dict.fromkeys(
        ("single_word", "lstrip", "rstrip", "normalized"), False
    )
    document = json.loads(model_of([("a", -1.5)], unk_id=0)) | {"normalizer": normalizer, "added_tokens": [token]}
    ours, reference = (one.from_str(json.dumps(document)) for one in (Tokenizer, tokenizers.Tokenizer))
    assert ours.engine == "native"
    for pretty in (False, True):
        assert ours.to_str(pretty) == reference.to_str(pretty)


def test_text_is_written_without_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(model_of({"a": 0, "b": 1}, unk_token="a"))
    ours, reference = Tokenizer.from_file(str(path)), tokenizers.Tokenizer.from_file(str(path))
    path.write_bytes(b"{}")
    for one in (ours, reference):
        one.add_tokens(["<new>"])
        one.normalizer = normalizers.Lowercase()
    assert ours.to_str() == reference.to_str()
    ours.model, reference.model = (models.WordLevel({"c": 4}, "c") for _ in range(2))
    assert ours.to_str() == reference.to_str()


@pytest.mark.parametrize(
    "merges", [["a b", "ab c"], [["a", "b"], ["ab", "c"]], [["a", "b"], ["a", "b"]], ["#version: 0.2", "a b"], []]
)
def test_merges_are_written_as_the_library_writes_them(merges: list[Any]) -> None:
    source = model_of({"a": 0, "c": 5, "b": 1, "ab": 3, "abc": 9}, merges=merges)
    for pretty in (False, True):
        assert Tokenizer.from_buffer(source).to_str(pretty) == tokenizers.Tokenizer.from_buffer(source).to_str(pretty)


@pytest.mark.parametrize(
    "model",
    [
        '{"vocab":{"a":0,"b":0}}',
        '{"vocab":{"a":0,"a":1}}',
        '{"vocab":{"a":0.5}}',
        '{"vocab":{"a":18446744073709551615}}',
        '{"vocab":[["a",0.0,1]]}',
        '{"vocab":[["a","b"]]}',
        '{"vocab":["a"]}',
        '{"vocab":null}',
        '{"vocab":{},"merges":{}}',
        '{"vocab":{},"merges":["a b c"]}',
        '{"vocab":{},"merges":[["a"]]}',
        '{"vocab":{},"merges":[["a",1]]}',
        '{"vocab":{},"merges":["a b",["a","b"]]}',
        "{}",
        "[]",
    ],
)
def test_what_only_the_library_writes(model: str) -> None:
    assert _core.model_text(f'{{"model":{model}}}'.encode(), False) is None
    with pytest.raises(VocabularyError, match="invalid JSON"):
        _core.model_text(f'{{"model":{model}'.encode(), False)

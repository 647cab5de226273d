"""The tokenizer.json that we write equals the library's. Scores are spelled so that the library, which misreads one in
four, reads the exact double."""

from __future__ import annotations

import base64
import json
import math
import warnings
from random import Random
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from crayon_hf import DelegatedWarning, Tokenizer, _core
from crayon_hf.errors import VocabularyError
from crayon_hf.parity.compare.records import Outcome, attempt
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.parts import added_token
from parity.components.cases import single_cases
from tests.support.versions import since

ANY = st.floats(-30, -0.001) | st.integers(-30, 0).map(float)


def as_the_library_reads(text: str) -> float:
    """The double that the library reads for a number: its digits as a double, scaled by a power of ten."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    exponent = int(power or 0) - len(fraction)
    digits = float(int(whole + fraction))
    value = digits * float(f"1e{exponent}") if exponent >= 0 else digits / float(f"1e{-exponent}")
    return -value if mantissa.startswith("-") else value


def plain_spelling(score: float) -> str | None:
    """The spelling of a score as an integer over a power of ten, both exact doubles. None if the library reads the
    usual spelling exactly."""
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
    """Components are written as the library writes them: with defaults that the file leaves out, and without unknown
    fields."""
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


CHARSMAPS = [b"charsmap", b"", b"a\0", b"charsmap", b"x"]
"""Charsmaps. Two of them equal the placeholder that stands for a charsmap while the library writes the rest."""


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_charsmaps_are_written_as_the_library_writes_them(count: int) -> None:
    texts = [base64.b64encode(bytes(4) + CHARSMAPS[i]).decode() for i in range(count)]
    maps = [{"type": "Precompiled", "precompiled_charsmap": text} for text in texts]
    ignored = {"type": "NFC", "precompiled_charsmap": "AAAAAHg=", "normalizers": maps}
    steps = [ignored, ignored | {"type": "Lowercase"}]
    normalizer = {"type": "Sequence", "normalizers": [*steps, {"type": "Sequence", "normalizers": maps}]}
    token = added_token(1, '"precompiled_charsmap":"AAAAAGNoYXJzbWFw"')
    document = json.loads(model_of([("a", -1.5)], unk_id=0)) | {"normalizer": normalizer, "added_tokens": [token]}
    ours, reference = (one.from_str(json.dumps(document)) for one in (Tokenizer, tokenizers.Tokenizer))
    assert ours.engine == "native"
    for pretty in (False, True):
        assert ours.to_str(pretty) == reference.to_str(pretty)

"""Encoding a Python str: read by code points, by several threads, and in parts if it is huge. Also encodings that are
computed only when they are read."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.encode.test_threads import ragged, vocabulary
from tests.support import reference_impl
from tests.support.cartridge_text import NAMES, text_source

SOURCES = ("byte level", *NAMES)
ALPHABETS = {
    "ASCII": "ab .\n1",
    "Latin-1": "a\u00e9 \u00ff",
    "UCS-2": "a\u2581 \u65e5\u00e9",
    "UCS-4": "a\U0001f642 \u65e5\u00e9",
}


@cache
def opened(name: str) -> reference_impl.Both:
    return reference_impl.Both(vocabulary(1) if name == "byte level" else text_source(name).decode())


def fresh(text: str) -> str:
    """A new str without cached UTF-8."""
    return "".join(list(text))


@pytest.mark.concurrency
@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.one_of(st.text(max_size=40), *(st.text(a, max_size=60) for a in ALPHABETS.values()))))
def test_small_texts(name: str, texts: list[str]) -> None:
    engine = opened(name).engine
    try:
        want = [e.ids for e in opened(name).reference.encode_batch(texts)]
    except Exception:
        return  # the tokenizer cannot encode this text
    for threads in (1, 2):
        assert ragged(engine, [fresh(text) for text in texts], threads) == want
        assert engine.encode_lists([fresh(text) for text in texts], threads=threads) == want
        assert engine.count_tokens([fresh(text) for text in texts], threads=threads) == [len(ids) for ids in want]
    assert [engine.encode_ids(fresh(text)) for text in texts] == want
    assert engine.encode_lists([text.encode() for text in texts]) == want


def huge(name: str) -> str:
    rng = random.Random(name)
    if name == "ASCII":
        words = reference_impl.generated_text(rng, 100_000).encode("ascii", "ignore").decode()
    else:
        words = "".join(rng.choice(ALPHABETS[name]) for _ in range(50_000)) + reference_impl.generated_text(rng, 50_000)
    return (words + " 1234567890" * 30 + "<|end|> crayon box <r>  ") * (700_000 // len(words))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"truncation": (100_000, 10, "longest_first", "right")},
    {"truncation": (50_000, 0, "longest_first", "left")},
    {"padding": (None, "right", 64, 0, 0, "[PAD]")},
    {"add_special_tokens": False, "special_as_text": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["byte level", "llama_like", "bert_like", "t5_like"])
@pytest.mark.parametrize("kind", ["ASCII", "UCS-4"])
def test_huge_texts(name: str, kind: str) -> None:
    engine, text = opened(name).engine, huge(kind)
    want = engine.encode_ids(text.encode())  # not cut
    for threads in (1, 2):
        assert ragged(engine, ["a b", fresh(text), "", fresh(text)[:1000]], threads)[1] == want
    assert ragged(engine, [text.encode()], 2) == [want]
    assert engine.encode_lists([fresh(text), "a"], threads=2)[0] == want
    assert engine.count_tokens([fresh(text)], threads=2) == [len(want)]
    assert len(engine.encode_batch([fresh(text)], offsets=False, threads=2)[0]) == len(want)
    batch = ["some words", text, "", "a" * len(text), "more"]
    for options in OPTIONS if name == "bert_like" else OPTIONS[:1]:
        whole, parts = (engine.encode_batch(batch, threads=threads, **options) for threads in (1, 3))
        for one, other in zip(whole, parts, strict=True):
            reference_impl.assert_same(other, one, str(options))
            for left, right in zip(one.overflowing, other.overflowing, strict=True):
                assert (left.ids, left.offsets) == (right.ids, right.offsets)


def test_a_huge_text_is_encoded_as_by_the_reference() -> None:
    text = huge("UCS-4")
    (got,) = opened("byte level").engine.encode_batch([text], threads=2)
    reference_impl.assert_same(got, opened("byte level").reference.encode(text), "a huge text")


def test_no_place_to_cut() -> None:
    engine = opened("byte level").engine
    for text in ("a" * 700_000, "1" * 700_000, " " * 700_000, "\u00e9" * 700_000):
        assert ragged(engine, [fresh(text)], 2) == [engine.encode_ids(text.encode())]


@pytest.mark.parametrize("flavor", ["oniguruma", "rust_regex"])
def test_lone_surrogates(flavor: str) -> None:
    engine = reference_impl.open_engine(vocabulary(1), flavor)
    for text in ("a \ud800 b", "\udfff", "\ud83d\ude42 c", "x" * 3000 + "\ud800", "\U0001f642\udc00"):
        texts = ["fine", text, "\u00e9"]
        calls: list[Any] = [
            lambda t=texts: ragged(engine, t, 2),
            lambda t=texts: engine.encode_lists(t),
            lambda t=texts: [e.ids for e in engine.encode_batch(t, offsets=False)],
            lambda t=texts: [engine.encode(one, None, False, True, False, None, None).ids for one in t],
            lambda t=texts: [engine.encode_ids(one) for one in t],
        ]
        for call in calls:
            if flavor == "oniguruma":
                with pytest.raises(TypeError, match="lone surrogate"):
                    call()
            else:
                replaced = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                assert call() == [engine.encode_ids(one) for one in ("fine", replaced, "\u00e9")]
    if flavor == "rust_regex":
        waiting = engine.encode("a \ud800 b", None, False, True, False, None, None)
        assert waiting.tokens == engine.encode("a \ufffd b").tokens


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=40), special=st.booleans(), as_text=st.booleans())
def test_encodings_that_wait(name: str, text: str, special: bool, as_text: bool) -> None:
    engine, reference = opened(name).engine, opened(name).reference
    reference.encode_special_tokens = as_text
    try:
        want = reference.encode(text, add_special_tokens=special)
    except Exception:
        return
    how = (None, False, special, as_text, None, None)
    first = engine.encode(text, *how)
    assert (first.ids, len(first)) == (want.ids, len(want))
    reference_impl.assert_same(first, want, "after the ids")
    assert first.ids == want.ids
    reference_impl.assert_same(engine.encode(text, *how), want, "at once")
    reference_impl.assert_same(copy.copy(engine.encode(text, *how)), want, "a copy")
    reference_impl.assert_same(pickle.loads(pickle.dumps(engine.encode(text, *how))), want, "pickled")
    (fast,) = engine.encode_batch([text], add_special_tokens=special, special_as_text=as_text, offsets=False)
    assert (fast.ids, fast.tokens, fast.type_ids) == (want.ids, want.tokens, want.type_ids)
    assert fast.offsets == [(0, 0)] * len(want)
    padded, truncated = engine.encode(text, *how), engine.encode(text, *how)
    padded.pad(50)
    want.pad(50)
    assert (padded.ids, padded.attention_mask) == (want.ids, want.attention_mask)
    truncated.truncate(2)
    assert len(truncated.ids) <= 2


@pytest.mark.parametrize("far", [False, True])
def test_garbage_collections_that_encode(far: bool) -> None:
    """Up to Python 3.11 making a list can start a garbage collection, whose finalizers run in the middle of a call.

    With `far` the ids are above those of any vocabulary, for which no ints are cached: another code path.
    """
    engine = opened("byte level").engine
    if far:
        token = {"id": "far", "ids": [5_000_000], "tokens": ["far"]}
        text_part = {"Sequence": {"id": "A", "type_id": 0}}
        single = [text_part, {"SpecialToken": {"id": "far", "type_id": 0}}]
        template = {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": {"far": token}}
        engine = reference_impl.open_engine(json.loads(vocabulary(1)) | {"post_processor": template})
    text, other = "crayon box 12", "other words, and more of them " * 9
    how = (None, False, True, False, None, None)
    want, encodings = engine.encode_ids(text), [engine.encode(text, *how) for _ in range(300)]
    waiting: list[_core.Encoding] = []

    def disturb(phase: str, info: dict[str, int]) -> None:
        engine.encode_ids(other)
        while waiting:
            waiting.pop().tokens  # noqa: B018  # computes the lazy encoding

    kept: list[Any] = []
    before = gc.get_threshold()
    gc.callbacks.append(disturb)
    try:
        gc.set_threshold(2)
        for encoding in encodings:
            waiting.append(encoding)
            kept += [[engine.encode_ids(text)], [encoding.ids], engine.encode_lists([text])]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(disturb)
    assert all(ids == want for (ids,) in kept)

"""``Encoding`` without a tokenizer: padding, truncation, merging, pickling, every list and lookup, as in
``tokenizers``."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import sys
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import crayon_hf
from crayon_hf import _core
from tests.support import reference_impl
from tests.support.encoding_states import assert_same_outcome, ours, outcome, plain_state, reference, state_of, states
from tests.support.reference_impl import RECORD
from tests.support.versions import before_1

SIDES = st.sampled_from(["left", "right"])

pads = st.tuples(
    st.just("pad"),
    st.tuples(st.integers(0, 14)),
    st.fixed_dictionaries(
        {},
        optional={
            "direction": SIDES,
            "pad_id": st.sampled_from([0, 5, 2**31 - 1, 2**31, 2**32 - 1]),
            "pad_type_id": st.integers(0, 3),
            "pad_token": st.sampled_from(["[PAD]", "", "<pad>", "\u3000 a very long padding token"]),
        },
    ),
)
truncations = st.tuples(
    st.just("truncate"),
    st.tuples(st.integers(0, 9), st.integers(0, 4)),
    st.fixed_dictionaries({}, optional={"direction": SIDES}),
)
names = st.tuples(st.just("set_sequence_id"), st.tuples(st.sampled_from([0, 1, 2, 2**63])), st.just({}))
steps = st.lists(st.one_of(pads, truncations, names), max_size=4)


def assert_same(got: Any, want: Any) -> None:
    assert state_of(got) == state_of(want)
    for name in RECORD:
        assert getattr(got, name) == getattr(want, name), name
    assert [state_of(e) for e in got.overflowing] == [state_of(e) for e in want.overflowing]
    assert (len(got), repr(got)) == (len(want), repr(want))


def has_overlaps(encoding: Any) -> bool:
    """Whether two sequences of the encoding share tokens. If so, the reference's lookups depend on hash order."""
    ranges = state_of(encoding)["sequence_ranges"].values()
    covered = [i for r in ranges for i in range(r["start"], r["end"])]
    return len(covered) != len(set(covered))


def lookups(encoding: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in ("token_to_sequence", "token_to_chars", "token_to_word"):
        out[name] = [getattr(encoding, name)(i) for i in range(len(encoding) + 3)]
    for name in ("word_to_tokens", "word_to_chars", "char_to_token", "char_to_word"):
        for sequence in (0, 1, 2, 7):
            call = getattr(encoding, name)
            out[f"{name} {sequence}"] = [call(i, sequence) for i in range(15)]
            assert out[f"{name} {sequence}"] == [call(i, sequence_index=sequence) for i in range(15)]
        assert out[f"{name} 0"] == [call(i) for i in range(15)]
    return out


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(states(depth=2), steps)
def test_edits_one_after_the_other(state: Any, edits: Any) -> None:
    got, want = ours(state), reference(state)
    assert_same(got, want)
    for name, positional, named in edits:
        call, reference_call = getattr(got, name), getattr(want, name)
        done = assert_same_outcome(
            lambda call=call, p=positional, n=named: call(*p, **n),
            lambda call=reference_call, p=positional, n=named: call(*p, **n),
            name,
        )
        assert_same(got, want)
        if not done:
            return
    if not has_overlaps(want):
        assert lookups(got) == lookups(want)


@settings(max_examples=150, deadline=None)
@given(st.lists(states(size=4), max_size=4), st.booleans())
def test_merging(parts: Any, growing: bool) -> None:
    got = _core.Encoding.merge([ours(s) for s in parts], growing)
    assert_same(got, tokenizers.Encoding.merge([reference(s) for s in parts], growing))
    if growing:
        default = _core.Encoding.merge(tuple(ours(s) for s in parts))
        assert state_of(default) == state_of(got)


@given(states())
@settings(max_examples=100, deadline=None)
def test_copies(state: Any) -> None:
    original = ours(state)
    for copied in (copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert state_of(copied) == state_of(original) == state_of(reference(state))
        assert copied is not original
        copied.pad(20)
        assert state_of(original) == state_of(reference(state))
    assert state_of(pickle.loads(pickle.dumps(original, protocol=5))) == state_of(original)


@before_1("name for what 0.23 pickles: the reference is beside it")
def test_merging_encodings_of_two_engines() -> None:
    """The same ids mean other tokens in each engine. After merging, each token keeps the string of its own engine."""
    texts = ("ab a", "b ab")
    boths = [reference_impl.Both(reference_impl.byte_level_document([(b"a", b"b")], seed=seed)) for seed in (1, 2)]
    got = [both.engine.encode(text) for both, text in zip(boths, texts, strict=True)]
    want = [both.reference.encode(text) for both, text in zip(boths, texts, strict=True)]
    for encoding in (*got, *want):
        encoding.truncate(2)  # type: ignore[attr-defined]
    got.append(pickle.loads(pickle.dumps(got[0])))
    want.append(pickle.loads(pickle.dumps(want[0])))
    for order in ([0, 1], [1, 0], [0, 0], [0, 2], [2, 2], [2, 1, 0]):
        ours_merged = _core.Encoding.merge([got[i] for i in order])
        assert_same(ours_merged, tokenizers.Encoding.merge([want[i] for i in order]))
        ours_merged.truncate(1)
        assert ours_merged.tokens == want[order[0]].tokens[:1]


# -- wrong calls

CALLS = [
    lambda e: e.pad(),
    lambda e: e.pad(5, "left"),
    lambda e: e.pad(length=5),
    lambda e: e.pad(5, to=3),
    lambda e: e.truncate(),
    lambda e: e.truncate(1, by=2),
    lambda e: e.truncate(max_length=1, stride=0, direction="left"),
    lambda e: type(e)(3),
    lambda e: type(e).merge([e, None]),
    lambda e: type(e).merge(None),
    lambda e: type(e).merge({e: 1}),
    lambda e: type(e).merge(iter([e])),
    lambda e: type(e).merge([e], 1),
    lambda e: type(e).merge([e], growing_offsets=None),
    lambda e: type(e).merge(encodings=[e], growing_offsets=False),
    lambda e: setattr(e, "ids", [1]),
    lambda e: e < e,
]
NUMBERS = [lambda e, bad: e.pad(3, pad_id=bad), lambda e, bad: e.pad(3, pad_type_id=bad)]
NUMBERS += [lambda e, bad: e.truncate(bad), lambda e, bad: e.truncate(1, bad), lambda e, bad: e.set_sequence_id(bad)]
NUMBERS += [lambda e, bad: e.token_to_chars(bad), lambda e, bad: e.word_to_tokens(bad)]
NUMBERS += [lambda e, bad: e.char_to_word(0, bad)]
CALLS += [functools.partial(call, bad=bad) for call in NUMBERS for bad in (-1, "1", None, 1.5, 2**32, 2**64)]
WORDS = [lambda e, bad: e.pad(9, direction=bad), lambda e, bad: e.truncate(1, 0, bad)]
CALLS += [functools.partial(call, bad=bad) for call in WORDS for bad in (None, 3, b"left", "up", "Left")]


def test_wrong_calls(capfd: pytest.CaptureFixture[str]) -> None:
    for i, call in enumerate(CALLS):
        assert_same_outcome(
            lambda call=call: call(ours(plain_state(2))), lambda call=call: call(reference(plain_state(2))), str(i)
        )
    assert "Ignored unknown kwarg option to" in capfd.readouterr().out
    for length in (2**32, 2**64 - 1):
        with pytest.raises(ValueError, match="padding"):
            ours(plain_state(2)).pad(length)


# States and fields of states: some that the reference refuses, then some that it accepts and panics on later.
REFUSED: list[Any] = [b"", b"[]", b"\xff", b'{"ids": []}', {"ids": [-1, 0]}, {"ids": [2**32, 0]}, {"ids": [1.0, 0]}]
REFUSED += [{name: 3} for name in plain_state(0)] + [{"offsets": [[0, 1], [0]]}]
REFUSED += [{"sequence_ranges": {key: {"start": 0, "end": 1}}} for key in ("x", "-1")]
REFUSED += [{"sequence_ranges": {"0": {"start": 0}}}]
CONTRADICTING: list[dict[str, Any]] = [{"tokens": ["a"]}, {"words": []}, {"offsets": [[0, 1]] * 3}]
CONTRADICTING += [{"sequence_ranges": {"0": {"start": start, "end": end}}} for start, end in ((1, 5), (2, 1))]
CONTRADICTING += [{"words": [2**31, 0]}, {"special_tokens_mask": [256, 0]}, {"offsets": [[0, 2**32], [0, 0]]}]


@pytest.mark.parametrize("changed", [*REFUSED, *CONTRADICTING], ids=repr)
def test_states_that_are_none(changed: Any) -> None:
    state = changed if isinstance(changed, bytes) else json.dumps(plain_state(2) | changed).encode()
    if changed in REFUSED:
        assert outcome(lambda: tokenizers.Encoding().__setstate__(state)) is ValueError
    encoding = ours(plain_state(3))
    with pytest.raises(ValueError, match="unpickle"):
        encoding.__setstate__(state)
    assert state_of(encoding) == plain_state(3)


def test_attributes() -> None:
    """A program can set its own attributes on an encoding; copies lose them."""
    held = [1]
    encoding: Any = crayon_hf.Encoding()
    encoding.source = held
    count = sys.getrefcount(held)
    for twin in (copy.copy(encoding), copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        assert vars(twin) == {}
        assert type(twin) is crayon_hf.Encoding
    encoding.__dict__ = {"source": 3}
    assert sys.getrefcount(held) == count - 1
    with pytest.raises(AttributeError):
        encoding.ids = []


def test_instances_of_both_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoding of either library is an instance of both classes, but methods take only their own library's."""
    ours, theirs = crayon_hf.Encoding(), tokenizers.Encoding()
    for encoding in (ours, theirs, type("Derived", (crayon_hf.Encoding,), {})()):
        assert isinstance(encoding, crayon_hf.Encoding)
        assert isinstance(encoding, tokenizers.Encoding)
    assert not isinstance(5, crayon_hf.Encoding)
    assert not isinstance(ours, (int, type("Derived", (crayon_hf.Encoding,), {})))
    for kind, other in ((crayon_hf.Encoding, theirs), (tokenizers.Encoding, ours)):
        with pytest.raises(TypeError, match="instance"):
            kind.merge([other])  # type: ignore[list-item]
    monkeypatch.delitem(sys.modules, "tokenizers")
    assert ours.__class__ is type(ours) is crayon_hf.Encoding

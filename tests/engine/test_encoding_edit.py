"""``Encoding`` by itself: padding, truncation, merging, pickling, every list and lookup, as in ``tokenizers``."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import crayon_hf
from crayon_hf import _core
from tests.support.encoding_states import assert_same_outcome, ours, outcome, plain_state, reference, state_of, states
from tests.support.reference_impl import RECORD
from tests.support.versions import IS_BESIDE_1, before_1

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
    """Sequences that share tokens: there the reference answers by the order of a hash map."""
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


@settings(max_examples=150, deadline=None)
@given(
    states(size=12, depth=0),
    st.none() | states(size=12, depth=0),
    st.integers(0, 14),
    st.integers(0, 3),
    st.sampled_from(["longest_first", "only_first", "only_second"]),
    SIDES,
    st.booleans(),
)
def test_truncating_pairs(
    first: Any, pair: Any, max_length: int, stride: int, strategy: str, direction: str, special: bool
) -> None:
    """The reference does this inside ``post_process``; a template of two specials takes its share of the length."""
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    if special:
        made.post_processor = tokenizers.processors.TemplateProcessing("[X] $A [X]", "[X] $A $B:1", [("[X]", 0)])
    added = made.num_special_tokens_to_add(pair is not None)
    if outcome(lambda: made.enable_truncation(max_length, stride=stride, strategy=strategy, direction=direction)):
        return
    a, b = ours(first), None if pair is None else ours(pair)
    kept: list[Any] = []

    def run_reference() -> None:
        kept.append(made.post_process(reference(first), None if pair is None else reference(pair)))

    if not assert_same_outcome(
        lambda: _core._testing.truncate_encodings(a, b, max_length, stride, strategy, direction, added),
        run_reference,
        "pair",
    ):
        return
    component = made.to_str()
    processor = json.dumps(json.loads(component)["post_processor"])
    assert_same(_core._testing.post_process_encodings(processor, a, b), kept[0])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(states(size=6), max_size=4), st.none() | st.integers(0, 9), st.integers(0, 5), SIDES)
def test_padding_a_batch(parts: Any, length: int | None, multiple: int, direction: str) -> None:
    got = [ours(s) for s in parts]
    want = [reference(s) for s in parts]
    _core._testing.pad_encodings(got, length, multiple, direction)
    target = max((len(e) for e in want), default=0) if length is None else length
    if multiple:
        target = -(-target // multiple) * multiple
    for mine, theirs in zip(got, want, strict=True):
        theirs.pad(target, direction=direction)
        assert_same(mine, theirs)


# -- copies and pickles


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


def test_equality_is_identity() -> None:
    a, b = ours(plain_state(2)), ours(plain_state(2))
    assert a != b
    assert len({a, b, a}) == 2


def test_unpickling_where_no_engine_is(tmp_path: Any) -> None:
    from tests.support import reference_impl

    both = reference_impl.Both(reference_impl.byte_level_document([(b"a", b"b")]))
    encoding = both.engine.encode("ab a\u4e2d ab")
    encoding.pad(9, pad_token="<pad>")
    encoding.truncate(4, 1)
    path = tmp_path / "encoding"
    path.write_bytes(pickle.dumps(encoding))
    script = f"import pickle; e = pickle.load(open({str(path)!r}, 'rb')); print([e.tokens, e.overflowing[0].tokens])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([encoding.tokens, encoding.overflowing[0].tokens])


@before_1("name for what 0.23 pickles: the reference is beside it")
def test_merging_encodings_of_two_engines() -> None:
    """Ids mean other tokens in each: the strings stay those of the engine that made the encoding."""
    from tests.support import reference_impl

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

BAD_NUMBERS = [-1, 2**70, "1", None, 1.5, 2**64]


@pytest.mark.parametrize("bad", [*BAD_NUMBERS, 2**32], ids=repr)
def test_numbers_that_cannot_be_meant(bad: Any) -> None:
    calls = [
        lambda e: e.pad(bad),
        lambda e: e.pad(3, pad_id=bad),
        lambda e: e.pad(3, pad_type_id=bad),
        lambda e: e.truncate(bad),
        lambda e: e.truncate(1, bad),
        lambda e: e.set_sequence_id(bad),
        lambda e: e.token_to_sequence(bad),
        lambda e: e.token_to_chars(bad),
        lambda e: e.token_to_word(bad),
        lambda e: e.word_to_tokens(bad),
        lambda e: e.word_to_chars(bad),
        lambda e: e.char_to_token(bad),
        lambda e: e.char_to_word(bad),
        lambda e: e.char_to_word(0, bad),
    ]
    for call in calls[1 if bad == 2**32 else 0 :]:
        assert_same_outcome(
            lambda call=call: call(ours(plain_state(2))), lambda call=call: call(reference(plain_state(2))), repr(bad)
        )


@pytest.mark.parametrize("bad", [None, 3, b"left", "up", "", "Left"], ids=repr)
def test_words_that_are_none(bad: Any) -> None:
    for call in (lambda e: e.pad(9, direction=bad), lambda e: e.truncate(1, 0, bad), lambda e: e.pad(9, pad_token=bad)):
        assert_same_outcome(
            lambda call=call: call(ours(plain_state(2))), lambda call=call: call(reference(plain_state(2))), repr(bad)
        )
    for name, arguments in (("pad", {"direction": "up"}), ("truncate", {"direction": "up"})):
        with pytest.raises(ValueError, match=r"irection.*up"):
            getattr(ours(plain_state(2)), name)(1, **arguments)


def test_calls_of_another_form(capfd: pytest.CaptureFixture[str]) -> None:
    calls = [
        lambda e: e.pad(),
        lambda e: e.pad(5, "left"),
        lambda e: e.pad(length=5),
        lambda e: e.pad(5, to=3),
        lambda e: e.truncate(),
        lambda e: e.truncate(1, by=2),
        lambda e: e.truncate(max_length=1, stride=0, direction="left"),
        lambda e: e.set_sequence_id(sequence_id=1),
        lambda e: type(e)(3),
        lambda e: type(e).merge([e, None]),
        lambda e: type(e).merge([1]),
        lambda e: type(e).merge(None),
        lambda e: type(e).merge("ab"),
        lambda e: type(e).merge({e: 1}),
        lambda e: type(e).merge(iter([e])),
        lambda e: type(e).merge([e], 1),
        lambda e: type(e).merge([e], growing_offsets=None),
        lambda e: type(e).merge(encodings=[e], growing_offsets=False),
        lambda e: setattr(e, "ids", [1]),
        lambda e: e < e,
    ]
    for i, call in enumerate(calls):
        assert_same_outcome(
            lambda call=call: call(ours(plain_state(2))), lambda call=call: call(reference(plain_state(2))), str(i)
        )
    assert capfd.readouterr().out.count("Ignored unknown kwarg option to") == 2


def test_a_stride_that_leaves_nothing() -> None:
    encoding = ours(plain_state(5, [plain_state(2)]))
    before = state_of(encoding)
    for stride in (3, 4, 2**64 - 1):
        with pytest.raises(ValueError, match="stride"):
            encoding.truncate(3, stride)
    assert state_of(encoding) == before
    encoding.truncate(5, 9)  # nothing to cut
    assert state_of(encoding) == before


def test_more_padding_than_there_is_memory() -> None:
    encoding = ours(plain_state(2))
    for length in (2**32, 2**63, 2**64 - 1):
        with pytest.raises(ValueError, match="padding"):
            encoding.pad(length)
    assert state_of(encoding) == plain_state(2)


def test_large_ids_are_listed_without_a_table_for_them() -> None:
    encoding = ours(plain_state(1))
    encoding.pad(2, pad_id=2**31 - 1)
    encoding.pad(3, pad_id=2**32 - 1)
    assert encoding.ids == [0, 2**31 - 1, 2**32 - 1]


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in plain_state(2).items() if key != name}


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"ids": []}',
        b"\xff",
        *(json.dumps(without(name)).encode() for name in plain_state(0)),
        *(json.dumps(plain_state(2) | {name: 3}).encode() for name in plain_state(0)),
        *(json.dumps(plain_state(2) | {name: [None, {}]}).encode() for name in plain_state(0) if name != "words"),
        json.dumps(plain_state(2) | {"ids": [-1, 0]}).encode(),
        json.dumps(plain_state(2) | {"ids": [2**32, 0]}).encode(),
        json.dumps(plain_state(2) | {"ids": [1.0, 0]}).encode(),
        json.dumps(plain_state(2) | {"offsets": [[0, 1], [0]]}).encode(),
        json.dumps(plain_state(2) | {"sequence_ranges": {"x": {"start": 0, "end": 1}}}).encode(),
        json.dumps(plain_state(2) | {"sequence_ranges": {"-1": {"start": 0, "end": 1}}}).encode(),
        json.dumps(plain_state(2) | {"sequence_ranges": {"0": {"start": 0}}}).encode(),
    ],
)
def test_states_that_are_none(state: bytes) -> None:
    assert outcome(lambda: tokenizers.Encoding().__setstate__(state)) is ValueError
    encoding = ours(plain_state(3))
    with pytest.raises(ValueError, match="unpickle Encoding"):
        encoding.__setstate__(state)
    assert state_of(encoding) == plain_state(3)


@pytest.mark.parametrize("state", ["x", None, 3, [b"{}"]], ids=repr)
def test_states_that_are_no_bytes(state: Any) -> None:
    for encoding in (_core.Encoding(), tokenizers.Encoding()):
        with pytest.raises(TypeError):
            encoding.__setstate__(state)


@pytest.mark.parametrize(
    "changed",
    [
        {"tokens": ["a"]},
        {"words": []},
        {"offsets": [[0, 1]] * 3},
        {"attention_mask": [1]},
        {"sequence_ranges": {"0": {"start": 1, "end": 5}}},
        {"sequence_ranges": {"0": {"start": 2, "end": 1}}},
        {"words": [2**31, 0]},
        {"special_tokens_mask": [256, 0]},
        {"offsets": [[0, 2**32], [0, 0]]},
        {"ids": [0], "overflowing": []},
    ],
    ids=repr,
)
def test_states_that_contradict_themselves(changed: dict[str, Any]) -> None:
    """The reference takes these, and panics later, or shows what no tokenizer makes."""
    with pytest.raises(ValueError, match="unpickle Encoding"):
        ours(plain_state(2) | changed)


def test_words_are_deprecated() -> None:
    for encoding in (ours(plain_state(2)), reference(plain_state(2))):
        with pytest.warns(DeprecationWarning, match=r"Encoding\.words is deprecated"):
            assert encoding.words == [0, 1]


def test_attributes() -> None:
    """Of one's own, which no copy has."""
    document = json.dumps({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})
    made: list[Any] = [crayon_hf.Encoding(), crayon_hf.Tokenizer.from_str(document).encode("a")]
    for one in made if IS_BESIDE_1 else [tokenizers.Encoding(), *made]:  # which has no name that it could be pickled by
        assert vars(one) == {}
        one.source, one.other = "a file", [1]
        assert (one.source, vars(one)) == ("a file", {"source": "a file", "other": [1]})
        for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert vars(twin) == {}
        del one.source
        one.__dict__ = {"source": 3}
        assert one.source == 3
        with pytest.raises(AttributeError):
            one.other  # noqa: B018
        with pytest.raises(AttributeError):
            one.ids = []
    held = [1]
    holder: Any = crayon_hf.Encoding()
    holder.held = held
    count = sys.getrefcount(held)
    del holder
    assert sys.getrefcount(held) == count - 1


def test_the_references_are_instances_as_well() -> None:
    class Mine(crayon_hf.Encoding):
        pass

    theirs: Any = tokenizers.Encoding()
    assert isinstance(theirs, crayon_hf.Encoding)
    assert isinstance(crayon_hf.Encoding(), crayon_hf.Encoding)
    assert isinstance(Mine(), crayon_hf.Encoding)
    for other in (5, None, "Encoding", type("Encoding", (), {"__module__": "tokenizers"})()):
        assert not isinstance(other, crayon_hf.Encoding)
    for other in (theirs, crayon_hf.Encoding()):
        assert not isinstance(other, Mine)
    assert pickle.loads(pickle.dumps(crayon_hf.Encoding)) is crayon_hf.Encoding
    with pytest.raises(TypeError, match="is not an instance of 'Encoding'"):
        crayon_hf.Encoding.merge([theirs])

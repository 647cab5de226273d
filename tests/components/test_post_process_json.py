"""Post-processors as ``tokenizer.json`` has them, on encodings of every kind: what is read, and what it does.

The encodings are made by hand, overflowing ones and ones that were post-processed before included, and have strings of
their own; ``test_post_process.py`` runs post-processors inside an engine.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.support.encoding_states import assert_same_outcome, ours, plain_state, reference, state_of, states

Component = Any

NAMES = ["[CLS]", "[SEP]", "long"]
DEFINITIONS = {
    "[CLS]": {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]},
    "[SEP]": {"id": "other", "ids": [2**31 - 1], "tokens": ["\u0120sep \u0120"]},
    "long": {"id": "long", "ids": [7, 8, 7], "tokens": ["a", "", "a"]},
    "unused": {"id": "unused", "ids": [], "tokens": []},
}
TYPES = st.sampled_from([0, 0, 1, 5, 2**32 - 1])


@st.composite
def pieces(draw: st.DrawFn, sequences: str) -> list[Component]:
    out = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["Sequence", "Sequence", "SpecialToken"]))
        name = draw(st.sampled_from(list(sequences) if kind == "Sequence" else NAMES))
        out.append({kind: {"id": name, "type_id": draw(TYPES)}})
    return out


TEMPLATES = st.fixed_dictionaries(
    {
        "type": st.just("TemplateProcessing"),
        "single": pieces("A") | pieces("AAAAB"),
        "pair": pieces("AB"),
        "special_tokens": st.just(DEFINITIONS),
    }
)
SPECIAL = {"sep": ["</s>", 2], "cls": ["\u0120<s>", 2**31 - 1]}
BERT = {"type": "BertProcessing", **SPECIAL}
STEPS = st.one_of(
    TEMPLATES,
    st.just(BERT),
    st.fixed_dictionaries(
        {
            "type": st.just("RobertaProcessing"),
            **{name: st.just(value) for name, value in SPECIAL.items()},
            "trim_offsets": st.booleans(),
            "add_prefix_space": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("ByteLevel"), "add_prefix_space": st.booleans(), "trim_offsets": st.booleans()}
    ),
)
COMPONENTS = st.recursive(
    STEPS,
    lambda parts: st.fixed_dictionaries({"type": st.just("Sequence"), "processors": st.lists(parts, max_size=3)}),
    max_leaves=4,
)
BERT_TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ],
    "pair": [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
    ],
    "special_tokens": DEFINITIONS,
}


@lru_cache(maxsize=1)
def document() -> str:
    return Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str()


def load(text: str) -> Tokenizer:
    """A tokenizer of the reference with this post-processor."""
    whole = document().replace('"post_processor":null', '"post_processor":' + text, 1)
    assert text in whole
    return Tokenizer.from_str(whole)


def check(component: Component, first: Any, pair: Any, special: bool) -> None:
    text = json.dumps(component, ensure_ascii=False)
    tokenizer = load(text)
    for is_pair in (False, True):
        wanted = 0 if component is None else _core._testing.count_special_tokens(text, is_pair)
        assert wanted == tokenizer.num_special_tokens_to_add(is_pair)
    kept: list[Any] = []

    def run() -> None:
        a, b = ours(first), None if pair is None else ours(pair)
        kept.append(_core._testing.post_process_encodings(text, a, b, special))
        assert (state_of(a), b and state_of(b)) == (state_of(ours(first)), b and state_of(ours(pair)))

    def run_reference() -> None:
        b = None if pair is None else reference(pair)
        kept.append(tokenizer.post_process(reference(first), b, special))

    if assert_same_outcome(run, run_reference, text):
        want, got = kept
        assert state_of(got) == state_of(want)
        assert (got.sequence_ids, got.n_sequences) == (want.sequence_ids, want.n_sequences)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(COMPONENTS, states(size=5), st.none() | states(size=5), st.booleans())
@example(None, plain_state(3), plain_state(2), True)
@example(BERT_TEMPLATE, plain_state(3, [plain_state(1)] * 2), plain_state(2, [plain_state(2)] * 3), True)
def test_post_processing(component: Component, first: Any, pair: Any, special: bool) -> None:
    check(component, first, pair, special)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.none() | STEPS, states(size=3, depth=2), st.none() | states(size=3, depth=2), st.booleans())
def test_overflowing_of_overflowing(component: Component, first: Any, pair: Any, special: bool) -> None:
    check(component, first, pair, special)


@pytest.mark.parametrize("component", [None, BERT, BERT_TEMPLATE], ids=["none", "Bert", "template"])
def test_again_what_was_post_processed(component: Component) -> None:
    text = json.dumps(component)
    tokenizer = load(text)
    got, want = ours(plain_state(3)), reference(plain_state(3))
    for special in (True, False, True):
        got, want = (
            _core._testing.post_process_encodings(text, got, None, special),
            tokenizer.post_process(want, None, special),
        )
        assert state_of(got) == state_of(want)
        got, want = (
            _core._testing.post_process_encodings(text, got, got, special),
            tokenizer.post_process(want, want, special),
        )
        assert state_of(got) == state_of(want)


# -- frames


def framed(tokenizer: Tokenizer, sizes: list[int], special: bool) -> list[tuple[int, int, int]]:
    """Ids, type ids and special masks of the reference, for sequences of such sizes."""
    sequences = [reference(plain_state(n) | {"ids": [1000 + i] * n, "type_ids": [i] * n}) for i, n in enumerate(sizes)]
    whole = tokenizer.post_process(*sequences, add_special_tokens=special)
    return list(zip(whole.ids, whole.type_ids, whole.special_tokens_mask, strict=True))


def laid_out(frame: Any, sizes: list[int], special: bool) -> list[tuple[int, int, int]]:
    """What a frame says that `framed` is."""
    *runs, types, bare_types = frame
    types = [types] if isinstance(types, int) else types
    bare_types = [bare_types] if isinstance(bare_types, int) else bare_types
    out = [(*entry, 1) for entry in runs[0] if special]
    for i, n in enumerate(sizes):
        out += [(1000 + i, (types if special else bare_types)[i], 0)] * n
        out += [(*entry, 1) for entry in runs[i + 1] if special]
    return out


@settings(max_examples=150, deadline=None)
@given(st.none() | COMPONENTS, st.integers(0, 3), st.integers(0, 3))
@example(BERT_TEMPLATE, 2, 1)
@example(BERT, 2, 1)
def test_frames(component: Component, n: int, m: int) -> None:
    text = json.dumps(component)
    tokenizer = load(text)
    single, pair = _core._testing.special_frames(text)
    for frame, sizes in ((single, [n]), (pair, [n, m])):
        for special in (True, False):
            if frame is not None:
                assert laid_out(frame, sizes, special) == framed(tokenizer, sizes, special)


def test_frames_of_what_is_published() -> None:
    cls, sep, end = (101, 0), (2**31 - 1, 0), (2**31 - 1, 1)
    assert _core._testing.special_frames(json.dumps(BERT_TEMPLATE)) == (
        ([cls], [sep], 0, 0),
        ([cls], [sep], [end], (0, 1), (0, 1)),
    )
    start, stop = (2**31 - 1, 0), (2, 0)
    assert _core._testing.special_frames(json.dumps(BERT)) == (
        ([start], [stop], 0, 0),
        ([start], [stop], [(2, 1)], (0, 1), (0, 1)),
    )
    roberta = BERT | {"trim_offsets": True, "add_prefix_space": True}
    assert _core._testing.special_frames(json.dumps(roberta)) == (
        ([start], [stop], 0, 0),
        ([start], [stop, stop], [stop], (0, 0), (0, 0)),
    )
    assert _core._testing.special_frames("null") == (([], [], 0, 0), ([], [], [], (0, 1), (0, 1)))


def test_what_is_no_frame() -> None:
    def template(single: list[str], pair: list[str]) -> str:
        def piece(name: str) -> Component:
            return {"SpecialToken" if name in NAMES else "Sequence": {"id": name, "type_id": 0}}

        return json.dumps(
            BERT_TEMPLATE | {"single": [piece(name) for name in single], "pair": [piece(name) for name in pair]}
        )

    for single, pair in ((["A", "A"], ["A"]), (["[CLS]"], ["B", "A"]), (["B"], ["A", "B", "A"]), ([], [])):
        assert _core._testing.special_frames(template(single, pair)) == (None, None)
    # Special tokens that a second step takes for plain ones.
    twice = json.dumps({"type": "Sequence", "processors": [BERT, BERT]})
    assert _core._testing.special_frames(twice) == (None, None)


# -- what is read

TEMPLATE = {"single": [], "pair": [], "special_tokens": {}}
LEVEL = {"add_prefix_space": True, "trim_offsets": False}


def with_piece(piece: Component) -> Component:
    return {**TEMPLATE, "single": [piece], "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}}


def with_special(definition: Component) -> Component:
    return {**TEMPLATE, "special_tokens": {"x": definition}}


FORMS: list[Component] = [
    SPECIAL,
    *({"type": t, **SPECIAL} for t in ("BertProcessing", "RobertaProcessing", "Foo", 3, None)),
    {**BERT, **LEVEL},
    {**BERT, **LEVEL, "trim_offsets": 1},
    {**BERT, "trim_offsets": True},
    {**BERT, "other": 1},
    *(
        {**BERT, "sep": s}
        for s in (
            ["s", 1, 2],
            ["s"],
            ["s", 1.0],
            ["s", -1],
            ["s", "1"],
            ["s", 2**32],
            [1, "s"],
            {"0": "s"},
            "s",
            None,
            ["s", 2**31 - 1],
        )
    ),
    {"sep": ["s", 1]},
    {"type": "ByteLevel", **LEVEL},
    LEVEL,
    {"type": "Foo", **LEVEL},
    {"type": "ByteLevel", "add_prefix_space": True},
    {"type": "ByteLevel", "trim_offsets": True},
    *({"type": "ByteLevel", **LEVEL, "use_regex": v} for v in (True, False, None, 1)),
    {"type": "ByteLevel", **LEVEL, **SPECIAL},
    {"type": "ByteLevel", **LEVEL, "other": 1},
    TEMPLATE,
    {"type": "Foo", **TEMPLATE},
    {**TEMPLATE, "other": 0},
    {**TEMPLATE, **SPECIAL},
    *({k: v for k, v in TEMPLATE.items() if k != missing} for missing in TEMPLATE),
    *({**TEMPLATE, name: None} for name in TEMPLATE),
    {**TEMPLATE, "single": "[CLS] $A"},
    {**TEMPLATE, "special_tokens": []},
    *(
        with_piece(piece)
        for piece in (
            {"Sequence": {"id": "B", "type_id": 2**32 - 1}},
            {"Sequence": {"id": "A", "type_id": 0, "other": 0}},
            {"Sequence": {"id": "C", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": -1}},
            {"Sequence": {"id": "A", "type_id": 0.0}},
            {"Sequence": {"id": "A", "type_id": 2**32}},
            {"Sequence": {"id": "A"}},
            {"Sequence": {"id": 0, "type_id": 0}},
            {"Sequence": None},
            {"Sequence": "A"},
            {"SpecialToken": {"id": "x", "type_id": 0}},
            {"SpecialToken": {"id": "x", "type_id": 0}, "other": 0},
            {"SpecialToken": {"type_id": 0}},
            {"SpecialToken": {"id": 3, "type_id": 0}},
            {"special_token": {"id": "x", "type_id": 0}},
            {},
            "$A",
            None,
            3,
        )
    ),
    *(
        with_special(definition)
        for definition in (
            {"id": "x", "ids": [1], "tokens": ["x"], "other": 0},
            {"id": "y", "ids": [], "tokens": []},
            {"ids": [1], "tokens": ["x"]},
            {"id": "x", "tokens": ["x"]},
            {"id": "x", "ids": [1]},
            {"id": 3, "ids": [1], "tokens": ["x"]},
            {"id": "x", "ids": [-1], "tokens": ["x"]},
            {"id": "x", "ids": ["1"], "tokens": ["x"]},
            {"id": "x", "ids": 1, "tokens": ["x"]},
            {"id": "x", "ids": [1], "tokens": [1]},
            {"id": "x", "ids": [1], "tokens": "x"},
            3,
            None,
        )
    ),
    {"type": "Sequence", "processors": []},
    {"processors": []},
    {"type": "Foo", "processors": []},
    {"type": "Sequence"},
    {"type": "Sequence", "processors": None},
    {"type": "Sequence", "processors": [None]},
    {"type": "Sequence", "processors": [BERT, {"type": "Sequence", "processors": [TEMPLATE]}], "other": 1},
    {"type": "Sequence", "processors": [BERT, {"type": "Sequence", "processors": [LEVEL]}]},
    {"type": "Sequence", "processors": [], **LEVEL},
    {"type": "Sequence", "processors": [], **SPECIAL},
    {},
    3,
    "BertProcessing",
    True,
]
TEXTS = [json.dumps(form) for form in FORMS] + [
    '{"sep": ["s", 1], "cls": ["c", 2], "cls": ["d", 3]}',
    '{"type": "A", "type": "B", "sep": ["s", 1], "cls": ["c", 2]}',
    '{"sep": ["s", 1], "cls": ["c", 2], "trim_offsets": true, "trim_offsets": true, "add_prefix_space": true}',
    '{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "trim_offsets": true}',
    '{"type": "Sequence", "processors": [], "processors": []}',
    '{"single": [], "pair": [], "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]},'
    ' "x": {"id": "x", "ids": [], "tokens": []}}}',
    '{"single": [], "single": [], "pair": [], "special_tokens": {}}',
    '{"single": [{"Sequence": {"id": "A", "id": "A", "type_id": 0}}], "pair": [], "special_tokens": {}}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_forms(text: str) -> None:
    """What the reference loads does the same; what it refuses is refused."""
    try:
        tokenizer = load(text)
    except Exception:
        with pytest.raises(VocabularyError, match="post_processor") as refusal:
            _core._testing.count_special_tokens(text, False)
        assert refusal.type is VocabularyError
        return
    for is_pair in (False, True):
        assert _core._testing.count_special_tokens(text, is_pair) == tokenizer.num_special_tokens_to_add(is_pair)
    if '"B"' not in text:
        got = _core._testing.post_process_encodings(text, ours(plain_state(3)))
        assert state_of(got) == state_of(tokenizer.post_process(reference(plain_state(3))))


@pytest.mark.parametrize(
    "form",
    [
        [["s", 1], ["c", 2]],
        with_piece({"Sequence": ["A", 0]}),
        with_piece({"Sequence": {"id": {"A": None}, "type_id": 0}}),
        with_piece({"SpecialToken": {"id": "undefined", "type_id": 0}}),
        {**BERT, "sep": ["s", 2**31]},
        with_special(["x", [1], ["x"]]),
        with_piece({"SpecialToken": {"id": "x", "type_id": 0}})
        | {"special_tokens": {"x": {"id": "x", "ids": [1, 2], "tokens": ["x"]}}},
        {"type": "Sequence", "processors": [BERT] * 65},
        with_piece({"SpecialToken": {"id": "x", "type_id": 0}})
        | {"special_tokens": {"x": {"id": "x", "ids": [1] * 70000, "tokens": ["x"] * 70000}}},
    ],
    ids=lambda form: json.dumps(form)[:80],
)
def test_forms_that_are_left_to_the_reference(form: Component) -> None:
    text = json.dumps(form)
    load(text)
    with pytest.raises(UnsupportedError, match="post_processor"):
        _core._testing.count_special_tokens(text, False)


def test_a_long_component_in_a_message() -> None:
    with pytest.raises(VocabularyError) as refusal:
        _core._testing.count_special_tokens(json.dumps({"x": "\u4e2d" * 1000}, ensure_ascii=False), False)
    assert len(str(refusal.value)) < 300

"""Post-processors from ``tokenizer.json`` on encodings of every kind: their fields and their effect.

The encodings are handmade, with token strings of their own. Some have overflowing encodings, and some were
post-processed before.
``test_post_process.py`` runs post-processors inside an engine.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError
from tests.support import reference_impl
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
A, B = ({"Sequence": {"id": name, "type_id": type}} for type, name in enumerate("AB"))
CLS, SEP = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
BERT_TEMPLATE = {"type": "TemplateProcessing", "single": [CLS, A, SEP], "pair": [CLS, A, SEP, B, SEP]}
BERT_TEMPLATE["special_tokens"] = DEFINITIONS


def check(component: Component, first: Any, pair: Any, special: bool) -> None:
    text = json.dumps(component, ensure_ascii=False)
    tokenizer = reference_impl.stock_with(post_processor=component)
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


# -- frames


def framed(tokenizer: Tokenizer, sizes: list[int], special: bool) -> list[tuple[int, int, int]]:
    """(id, type id, special mask) of each token that ``tokenizers`` returns for sequences of these sizes."""
    sequences = [reference(plain_state(n) | {"ids": [1000 + i] * n, "type_ids": [i] * n}) for i, n in enumerate(sizes)]
    whole = tokenizer.post_process(*sequences, add_special_tokens=special)
    return list(zip(whole.ids, whole.type_ids, whole.special_tokens_mask, strict=True))


def laid_out(frame: Any, sizes: list[int], special: bool) -> list[tuple[int, int, int]]:
    """The same rows as `framed`, computed from `frame`, the engine's list of special tokens around each sequence."""
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
    tokenizer = reference_impl.stock_with(post_processor=component)
    single, pair = _core._testing.special_frames(text)
    for frame, sizes in ((single, [n]), (pair, [n, m])):
        assert frame is not None or component not in (BERT, BERT_TEMPLATE)
        for special in (True, False):
            if frame is not None:
                assert laid_out(frame, sizes, special) == framed(tokenizer, sizes, special)


# -- reading JSON

TEMPLATE = {"single": [], "pair": [], "special_tokens": {}}


def with_piece(piece: Component) -> Component:
    return {**TEMPLATE, "single": [piece], "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}}


def with_special(definition: Component) -> Component:
    return {**TEMPLATE, "special_tokens": {"x": definition}}


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
    reference_impl.stock_with(post_processor=form)
    with pytest.raises(UnsupportedError, match="post_processor"):
        _core._testing.count_special_tokens(text, False)

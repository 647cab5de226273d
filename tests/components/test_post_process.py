"""Post-processors from ``tokenizer.json``: inside an engine, and on encodings of every kind.

Some encodings are handmade, with token strings of their own, with overflowing encodings, or post-processed before.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

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


# -- inside an engine

MERGES = [(b" ", b"a"), (b"a", b"b"), (b" a", b"b"), (b" ", b" "), (b"\n", b" "), (b"b", b" ")]
MERGES += [(b"\xe4", b"\xb8"), (b"\xc2", b"\xa0")]
INPUTS = ["", " ", "a", " a", "  ab  \n ab ", "<m> ab<l>", "x <s> ab", "\u4e2da \U0001f642 ab", "\u3000ab\xa0"]
INPUTS += ["  <m>  ", "\u0120a \u0120", "\u2003a \n", "\u4e2d "]


def base_document() -> reference_impl.Document:
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    document = reference_impl.byte_level_document(MERGES, more=["[CLS]", "<s>"], pre_tokenizer=split)
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_special_tokens(["[CLS]", "<s>"])
    added = [AddedToken("<m>", lstrip=True, rstrip=True), AddedToken("<l>", lstrip=True, normalized=False)]
    tokenizer.add_tokens(added)
    whole: reference_impl.Document = json.loads(tokenizer.to_str())
    return whole


TEXTS = st.sampled_from(INPUTS)
WORDS = st.lists(TEXTS, max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.none() | COMPONENTS, st.tuples(TEXTS, st.none() | TEXTS), st.tuples(WORDS, st.none() | WORDS))
def test_inside_an_engine(component: Component, texts: Any, words: Any) -> None:
    both = reference_impl.Both(base_document() | {"post_processor": component})
    # After a template, other steps assign tokens to two sequences, and the reference's answer depends on hash order.
    is_sure = component is None or "Template" not in json.dumps(component) or component["type"] != "Sequence"
    for special in (True, False):
        both.check(*texts, add_special_tokens=special, also_lookups=is_sure)
        both.check(*words, is_pretokenized=True, add_special_tokens=special, also_lookups=is_sure)
    for is_pair in (False, True):
        assert both.engine.num_special_tokens_to_add(is_pair) == both.reference.num_special_tokens_to_add(is_pair)


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

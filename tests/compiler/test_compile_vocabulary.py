"""Compiling a tokenizer.json: the vocabularies and added tokens that result, by compile_rule.check."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from crayon_hf.errors import UnsupportedError
from tests.support import reference_impl
from tests.support.cartridge_text import text_source
from tests.support.compile_rule import MERGES, check, check_unsupported, check_vocabulary, document

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


# -- vocabularies


def with_vocab(change: Callable[[dict[str, int]], None]) -> reference_impl.Document:
    source = reference_impl.byte_level_document(MERGES, more=["\u4e2d", " ", "", "a b", "\U0001f642", "\u0120 "])
    change(source["model"]["vocab"])
    return source


@on_every_cpu
def test_tokens_that_no_bytes_spell() -> None:
    assert check(json.dumps(with_vocab(lambda vocab: None))) == "the same"


def test_the_empty_token_alone() -> None:
    source = reference_impl.byte_level_document(MERGES, more=[""])
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).token_to_id("") == len(source["model"]["vocab"]) - 1


@on_every_cpu
def test_holes_in_the_ids() -> None:
    def spread(vocab: dict[str, int]) -> None:
        for token, id in list(vocab.items()):
            vocab[token] = id * 3 + 7

    source = with_vocab(spread)
    assert check(json.dumps(source)) == "the same"
    engine = reference_impl.open_engine(source)
    assert engine.id_to_token(8) is None
    assert engine.id_to_bytes(8) is None


def test_added_tokens_where_ids_have_holes() -> None:
    """The reference counts tokens to find the next id, and so may meet one that is in use."""
    for holes in (1, 2, 3, 4):
        source = document()
        vocab = source["model"]["vocab"]
        vocab["\u4e2d"] += holes
        for shift in range(-3, 5):
            source["added_tokens"][2]["id"] = len(vocab) + shift
            check(json.dumps(source))


def test_two_tokens_of_one_id() -> None:
    def clash(vocab: dict[str, int]) -> None:
        vocab["\u4e2d"] = vocab["ab"]

    with pytest.raises(UnsupportedError, match="share the id"):
        reference_impl.compiled(with_vocab(clash))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=4), st.none(), max_size=30), st.integers(0, 3), st.booleans())
def test_vocabularies_of_any_strings(more: dict[str, None], seed: int, escaped: bool) -> None:
    source = reference_impl.byte_level_document(MERGES, more=list(more), seed=seed)
    text = json.dumps(source, ensure_ascii=escaped)
    engine = reference_impl.open_engine(text)
    check_vocabulary(engine, Tokenizer.from_str(text), [])


def test_the_most_unused_ids() -> None:
    """Twice as many ids as tokens, and 65,536 more."""
    source = reference_impl.byte_level_document(MERGES, more=["last"])
    entries = len(source["model"]["vocab"])
    most = 2 * entries + 65_536
    source["model"]["vocab"]["last"] = most - 1
    engine = reference_impl.open_engine(source)
    assert engine.id_to_token(most - 1) == "last"
    assert engine.encode_ids("ab") == Tokenizer.from_str(json.dumps(source)).encode("ab").ids
    for id in (most, 2**31, 2**32 - 1):
        source["model"]["vocab"]["last"] = id
        with pytest.raises(UnsupportedError):
            reference_impl.compiled(source)


@pytest.mark.parametrize("id", [-1, -(2**40), 1.5, 2.0, "7", None, True, [1]])
def test_ids_that_are_none(id: Any) -> None:
    source = document()
    source["model"]["vocab"]["\u4e2d"] = id
    assert check(json.dumps(source)) == "refused"
    source = document()
    source["added_tokens"][2]["id"] = id
    assert check(json.dumps(source)) == "refused"


# -- added tokens that are odd


@pytest.mark.slow
@on_every_cpu
def test_added_tokens_that_are_odd() -> None:
    """Nothing is said of which are native; whatever is opened does the same."""
    vocab = document()["model"]["vocab"]
    size = len(vocab)
    for content, id in [
        ("", size),
        ("<s>", size),
        ("<m>", size),
        ("<new>", size + 1),
        ("<new>", size + 2),
        ("<new>", size),
        ("<new>", 0),
        ("ab", vocab["ab"]),
        ("ab", size + 1),
        ("\u0120a", vocab["\u0120a"]),
        (" a", size + 1),
        ("\u4e2d", vocab["\u4e2d"]),
    ]:
        for flag in ("special", "normalized", "single_word"):
            for value in (False, True):
                source = document()
                token = {**source["added_tokens"][2], "content": content, "id": id, "rstrip": False, flag: value}
                source["added_tokens"].append(token)
                check(json.dumps(source))


def test_added_tokens_in_any_order() -> None:
    source = document()
    source["added_tokens"].reverse()
    check(json.dumps(source))
    second = {**source["added_tokens"][0], "content": "<n>", "id": len(source["model"]["vocab"]) + 1}
    for order in (0, 1, 3):
        again = document()
        again["added_tokens"].insert(order, second)
        check(json.dumps(again))


def test_a_content_that_the_normalizer_changes() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    tokenizer.add_tokens([AddedToken("e\u0301x")])
    assert check(tokenizer.to_str()) == "the same"


def test_what_is_not_native_is_named() -> None:
    vocab = document()["model"]["vocab"]
    token = document()["added_tokens"][2]
    other_flags = document()
    other_flags["added_tokens"].append(token | {"special": True})
    check_unsupported(other_flags, "twice, with other flags", "<m>")
    used = document()
    used["model"]["vocab"]["last"] = len(vocab) + 1  # so that the next free id, by the count of tokens, is in use
    check_unsupported(used, "on a used id", "<m>")
    large = document()
    large["added_tokens"][2] = token | {"id": 2**21}
    check_unsupported(large, "too large")
    nothing = document(normalizer={"type": "Replace", "pattern": {"String": "<m>"}, "content": ""})
    check_unsupported(nothing, "reduces to nothing", "<m>")
    adds_nothing = json.loads(text_source("llama_like"))
    adds_nothing["model"]["vocab"][""] = len(adds_nothing["model"]["vocab"]) + 50
    adds_nothing["model"]["merges"].append(["\u2581", ""])
    check_unsupported(adds_nothing, "adds nothing")


def test_ids_that_the_reference_gives_anew() -> None:
    """A token gets the id that it has in the model, or the next one, whatever the file says."""
    vocab = document()["model"]["vocab"]
    for index, id in itertools.product(range(3), (0, 1, 7, len(vocab) - 1, len(vocab), len(vocab) + 100)):
        source = document()
        source["added_tokens"][index]["id"] = id
        assert check(json.dumps(source)) == "the same"
    source = document()
    source["added_tokens"][2]["id"] += 100
    assert reference_impl.open_engine(source).token_to_id("<m>") == len(vocab)


def test_the_largest_id() -> None:
    most = (1 << 21) - 1
    source = document()
    source["model"]["vocab"]["\u4e2d"] = most
    with pytest.raises(UnsupportedError, match="too large"):
        reference_impl.compiled(source)
    source["model"]["vocab"]["\u4e2d"] = most - 1
    with pytest.raises(UnsupportedError, match="unused ids"):
        reference_impl.compiled(source)

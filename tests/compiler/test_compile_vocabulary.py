"""Compiling a tokenizer.json: vocabularies and added tokens, checked by compile_rule.check."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

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
def test_holes_in_the_ids() -> None:
    def spread(vocab: dict[str, int]) -> None:
        for token, id in list(vocab.items()):
            vocab[token] = id * 3 + 7

    source = with_vocab(spread)
    assert check(json.dumps(source)) == "the same"
    engine = reference_impl.open_engine(source)
    assert engine.id_to_token(8) is None
    assert engine.id_to_bytes(8) is None


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=4), st.none(), max_size=30), st.integers(0, 3), st.booleans())
def test_vocabularies_of_any_strings(more: dict[str, None], seed: int, escaped: bool) -> None:
    source = reference_impl.byte_level_document(MERGES, more=list(more), seed=seed)
    text = json.dumps(source, ensure_ascii=escaped)
    engine = reference_impl.open_engine(text)
    check_vocabulary(engine, Tokenizer.from_str(text), [])


def test_the_most_unused_ids() -> None:
    """The end of the ids may be at most twice the number of tokens plus 65,536."""
    source = reference_impl.byte_level_document(MERGES, more=["last"])
    most = 2 * len(source["model"]["vocab"]) + 65_536
    source["model"]["vocab"]["last"] = most - 1
    assert reference_impl.open_engine(source).id_to_token(most - 1) == "last"
    for id, says in ((most, "unused ids"), ((1 << 21) - 2, "unused ids"), ((1 << 21) - 1, "too large"), (97, "share")):
        source["model"]["vocab"]["last"] = id
        with pytest.raises(UnsupportedError, match=says):
            reference_impl.compiled(source)


# -- unusual added tokens


@pytest.mark.slow
@on_every_cpu
def test_added_tokens_that_are_odd() -> None:
    """Each document with an odd added token is refused as unsupported, or gives the results of ``tokenizers``."""
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


def test_what_is_not_native_is_named() -> None:
    vocab = document()["model"]["vocab"]
    token = document()["added_tokens"][2]
    other_flags = document()
    other_flags["added_tokens"].append(token | {"special": True})
    check_unsupported(other_flags, "twice, with other flags", "<m>")
    used = document()
    used["model"]["vocab"]["last"] = len(vocab) + 1  # the id that the next added token would get
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

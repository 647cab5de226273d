"""Greedy mode: every call gives the result of a plain longest match (greedy_reference.py)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.support import greedy_reference as twin
from tests.support import reference_impl
from tests.support.greedy_reference import (
    ON_BYTES,
    assert_ids,
    byte_offsets,
    text_document,
    word_piece,
)

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


@on_every_cpu
@settings(max_examples=60, deadline=None)
@given(reference_impl.texts_of(["ab", " a", "é", "<s>", "  "]), st.booleans())
def test_offsets_over_bytes(text: str, prefix: bool) -> None:
    document = word_piece([b"ab", b" ab", b"a\xc3", b"\xa9 ", b"  a", b"bab"])
    document["pre_tokenizer"]["add_prefix_space"] = prefix
    space = " " if prefix and text and not text.startswith(" ") else ""
    tokens = twin.byte_tokens(document["model"]["vocab"]).cut((space + text).encode())
    encoding = reference_impl.open_engine(document).greedy().encode(text)
    assert encoding.ids == [i for i, _, _ in tokens]
    assert encoding.offsets == byte_offsets(text, tokens, len(space))
    assert encoding.word_ids == [0] * len(tokens)


def test_special_tokens_come_from_added_tokens_alone() -> None:
    """A token of the model that is also a special added token does not match in plain text, unless it is a single
    byte."""
    document = reference_impl.byte_level_document([(b"<", b"s"), (b"<s", b">"), (b"<s>", b"!")])
    bare = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    vocab = document["model"]["vocab"]
    for token in ("<s>", "x"):
        document["added_tokens"].append({"id": vocab[token], "content": token} | bare)
    engine = reference_impl.open_engine(document).greedy()
    assert engine.encode("<s><s>!x").tokens == ["<s>", "<s>", "!", "x"]
    as_text = engine.encode("<s><s>!x", special_as_text=True)
    assert as_text.tokens == ["<s", ">", "<s>!", "x"]
    assert engine.encode_ids("<s><s>!x", special_as_text=True) == as_text.ids == engine.encode_bytes(b"<s><s>!x")
    assert engine.longest_match(b"<s>") == (vocab["<s"], 2)
    assert engine.longest_match(b"xy") == (vocab["x"], 1)
    # Other added tokens make it a special token, or plain text again.
    freed = engine.with_components(engine.components, [])
    assert freed.encode("<s>x").tokens == ["<s>", "x"]
    assert freed.with_components(freed.components, engine.added_tokens()).encode_ids("<s>", special_as_text=True) == [
        vocab["<s"],
        vocab[">"],
    ]


@pytest.mark.parametrize(
    "model",
    [
        models.BPE({"a": 0}, [], unk_token="<unk>"),
        models.Unigram([("a", -1.0)], None, False),
        models.WordLevel({"a": 0}, unk_token="<unk>"),
    ],
)
def test_no_unknown_token_to_give(model: Any) -> None:
    engine = reference_impl.open_engine(text_document(model, None, None)).greedy()
    assert engine.encode_ids("aa") == [0, 0]
    for call in (engine.encode, engine.encode_ids):
        with pytest.raises(VocabularyError):
            call("ab")


def test_modes() -> None:
    document = reference_impl.byte_level_document([(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")])
    exact = reference_impl.open_engine(document)
    greedy = exact.greedy()
    assert (exact.mode, greedy.mode, greedy.greedy().mode) == ("exact", "greedy", "greedy")
    assert exact.encode("abc").tokens == ["a", "bc"]
    assert greedy.encode("abc").tokens == greedy.greedy((999, 0)).encode("abc").tokens == ["abc"]
    assert greedy.components == exact.components
    rows = [
        {"id": 300, "content": "bc"}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    ]
    for engine in (
        greedy.with_components(exact.components, rows),
        exact.with_components(exact.components, rows).greedy(),
    ):
        assert engine.mode == "greedy"
        assert engine.encode("abcabca").tokens == ["a", "bc", "a", "bc", "a"]
        assert engine.added_tokens() == rows
    upper = json.loads(greedy.components) | {"normalizer": {"type": "Lowercase"}}
    assert greedy.with_components(json.dumps(upper)).encode("ABC").tokens == ["abc"]
    with pytest.raises(UnsupportedError, match="pipeline without ByteLevel"):
        greedy.with_components(json.dumps(upper | {"pre_tokenizer": None}))


def test_unknown_ids() -> None:
    """`unknown=(first, id)` replaces every id from `first` on by `id` in all calls. Offsets stay those of the
    tokens."""
    document = word_piece([b"abc"], ON_BYTES[1])
    plain, named = (reference_impl.open_engine(document).greedy(unknown) for unknown in (None, (98, 7)))
    text = "abc éa<m>"
    for engine in (named, named.with_components(named.components), named.greedy((98, 7))):
        ids = [i if i < 98 else 7 for i in plain.encode(text).ids]
        assert 7 in ids
        assert_ids(engine, text, ids)
        assert engine.encode_bytes(text.encode()) == ids
        assert engine.encode(text).offsets == plain.encode(text).offsets
        assert engine.encode(text).tokens == [plain.id_to_token(i) for i in ids]
        assert engine.longest_match(b"abc") == (7, 3)
    rows = [
        {"id": 300, "content": "<m>"}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    ]
    assert named.with_components(named.components, rows).encode_ids("<m>") == [300]
    model = models.BPE({"ab": 0, "b": 1, "a": 2}, [])
    on_text = reference_impl.open_engine(text_document(model, None, pre_tokenizers.Metaspace())).greedy((1, 0))
    assert_ids(on_text, "abba", [0, 0, 0])
    for bad in ((0, 257), (0, 2**31)):
        with pytest.raises(ValueError, match="the id for unknown tokens"):
            plain.greedy(bad)
    for wrong in ((-1, 0), (0,), (0, 1, 2), 5):
        with pytest.raises(TypeError):
            plain.greedy(wrong)

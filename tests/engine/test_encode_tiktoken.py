"""Engines compiled with the flavor ``tiktoken`` use tiktoken's character classes, and treat invalid text as it does."""

from __future__ import annotations

import functools
import json

import pytest
import tiktoken
from hypothesis import given, settings

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.encode_shapes import PIECES, SURROGATES, vocabulary

cpu = reference_impl.cpu


@functools.cache
def rank_file() -> tuple[tiktoken.Encoding, str]:
    """The trained vocabulary of type cl100k, as an encoding of tiktoken and as a tokenizer.json."""
    tokens = sorted(json.loads(vocabulary("cl100k"))["model"]["vocab"].items(), key=lambda item: item[1])
    ranks = sorted({reference_impl.token_bytes(token) for token, _ in tokens} - {b"<|begin|>", b"<|end|>"}, key=len)
    family = "cl100k"
    pattern = _core.canonical_pattern(family)
    reference = tiktoken.Encoding(
        "test",
        pat_str=pattern,
        mergeable_ranks={token: i for i, token in enumerate(ranks)},
        special_tokens={"<|end|>": len(ranks)},
    )
    merges = [(ranks[left], ranks[right]) for left, right, _ in _core.merges_from_ranks(ranks)]
    document = reference_impl.byte_level_document()
    document["model"] |= {
        "vocab": {reference_impl.spell(token): i for i, token in enumerate(ranks)},
        "merges": [[reference_impl.spell(a), reference_impl.spell(b)] for a, b in merges],
        "ignore_merges": True,
    }
    document["pre_tokenizer"] = json.loads(vocabulary("cl100k"))["pre_tokenizer"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    document["added_tokens"] = [{"id": len(ranks), "content": "<|end|>", **flags}]
    return reference, json.dumps(document)


@pytest.fixture(scope="module")
def ranked(cpu: str) -> tuple[tiktoken.Encoding, _core.Engine]:
    reference, text = rank_file()
    return reference, reference_impl.open_engine(text, "rust_regex")


@settings(max_examples=100, deadline=None)
@given(text=reference_impl.texts_of([*PIECES, *SURROGATES], size=15))
def test_tiktoken(ranked: tuple[tiktoken.Encoding, _core.Engine], text: str) -> None:
    """Lone surrogates become U+FFFD, as in tiktoken."""
    reference, engine = ranked
    want = reference.encode(text, allowed_special="all")
    assert engine.encode_ids(text) == want
    assert engine.encode(text).ids == want
    assert engine.encode_ids(text, special_as_text=True) == reference.encode_ordinary(text)
    assert engine.decode_bytes(want) == reference.decode_bytes(want)
    assert engine.decode(want, skip_special_tokens=False) == reference.decode(want)

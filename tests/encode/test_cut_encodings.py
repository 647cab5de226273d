"""Encodings of large texts, which several threads make in parts, equal those of one thread."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.stand_in_cases import trained

cpu = reference_impl.cpu

KINDS = (
    "byte_level",
    "word_piece",
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("unigram", "llama")),
)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"truncation": (100_000, 10, "longest_first", "right")},
    {"truncation": (50_000, 0, "longest_first", "left")},
    {"padding": (None, "right", 64, 0, 0, "[PAD]")},
    {"add_special_tokens": False, "special_as_text": True},
]
LARGE = 540_000
"""A length in characters. The engine encodes texts of this length in more than two parts."""


def large_text(seed: int) -> str:
    """A text with added tokens, several scripts, and characters of all sizes."""
    rng = random.Random(seed)
    pieces = [reference_impl.generated_text(rng, 2000) for _ in range(40)]
    pieces += ["<end> ", "naïve 東京 😀 ", "1234567 ", "\n\n", "  spaces  "]
    out, size = [], 0
    while size < LARGE:
        out.append(rng.choice(pieces))
        size += len(out[-1])
    return "".join(out)


def source(kind: str) -> str:
    tokenizer = Tokenizer.from_str(trained(kind))
    tokenizer.add_tokens([AddedToken("<end>", special=True), AddedToken("tokyo", single_word=True)])
    return str(tokenizer.to_str())


def same(got: _core.Encoding, want: _core.Encoding) -> None:
    for field in ("ids", "offsets", "word_ids", "type_ids", "special_tokens_mask", "attention_mask", "tokens"):
        assert getattr(got, field) == getattr(want, field), field
    assert len(got.overflowing) == len(want.overflowing)
    for ours, theirs in zip(got.overflowing, want.overflowing, strict=True):
        assert (ours.ids, ours.offsets) == (theirs.ids, theirs.offsets)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_as_one_thread_makes_them(kind: str) -> None:
    engine = reference_impl.open_engine(source(kind))
    batch = ["some words", large_text(1), "", "a" * LARGE, "more"]
    for options in OPTIONS if kind == "word_piece" else OPTIONS[:1]:
        want = engine.encode_batch(batch, threads=1, **options)
        for got, one in zip(engine.encode_batch(batch, threads=3, **options), want, strict=True):
            same(got, one)


def test_as_the_reference_makes_them(cpu: str) -> None:
    text = large_text(3)
    reference = Tokenizer.from_str(source("byte_level")).encode(text)
    (got,) = reference_impl.open_engine(source("byte_level")).encode_batch([text], threads=2)
    for field in ("ids", "offsets", "word_ids", "tokens"):
        assert getattr(got, field) == getattr(reference, field), field

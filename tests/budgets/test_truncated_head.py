"""Truncation encodes only as much of a text as the kept tokens need. All fields of the encoding, and of its overflowing
encodings, equal the library's."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from tests.encode.test_stream_encoder import TEXT_SHAPES, text_of
from tests.support.reference_impl import generated_text
from tests.support.sampling import sampled

FIELDS = (
    *("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids"),
    *("n_sequences",),
)
STOPS = ("gpt2_like", "llama3_like", "qwen_like", "roberta_like")
SHAPES = (*STOPS, "template_like", "llama2", "mistral")


def differences(ours: Any, wanted: Any, deep: bool = True) -> list[str]:
    """The names of fields that differ between two encodings and, if `deep`, between their overflowing encodings."""
    found = [name for name in FIELDS if getattr(ours, name) != getattr(wanted, name)]
    if deep:
        pairs = list(zip(ours.overflowing, wanted.overflowing, strict=True))
        found += [f"overflowing {i}: {name}" for i, pair in enumerate(pairs) for name in differences(*pair)]
    return found


def both(request: pytest.FixtureRequest, shape: str) -> tuple[crayon_hf.Tokenizer, Any]:
    if shape in TEXT_SHAPES:
        source = json.dumps(TEXT_SHAPES[shape])
    else:
        source = Path(request.getfixturevalue(shape)).read_text(encoding="utf-8")
    return crayon_hf.Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)


@pytest.mark.parametrize("shape", sampled(SHAPES, 2))
def test_every_field(request: pytest.FixtureRequest, shape: str) -> None:
    ours, stock = both(request, shape)
    rng = random.Random(shape)
    fronts = 0
    for _ in range(3):
        text = generated_text(rng, 10_000) + text_of(rng, 300)
        for length, stride, side in ((50, 0, "right"), (64, 3, "right"), (300, 0, "right"), (90, 2, "left")):
            for each in (ours, stock):
                each.enable_truncation(length, stride=stride, direction=side)
            before = sys.getrefcount(text)
            found, wanted = ours.encode(text), stock.encode(text)
            fronts += sys.getrefcount(text) > before  # it keeps the text, for overflowing encodings
            assert not differences(found, wanted, deep=False)
            assert found.char_to_token(3) == wanted.char_to_token(3)
            assert found.token_to_chars(len(found) - 2) == wanted.token_to_chars(len(found) - 2)
            assert not differences(found, wanted)
            still_waits = sys.getrefcount(text) > before  # a failed assertion would hold a reference
            assert not still_waits
    assert fronts >= (6 if shape in STOPS else 0)


@pytest.mark.parametrize(
    "padding",
    [{}, {"length": 500}, {"length": 100, "pad_to_multiple_of": 8}, {"pad_to_multiple_of": 16}, {"direction": "left"}],
)
@pytest.mark.parametrize("shape", sampled(["roberta_like", "llama3_like"], 2))
def test_batches(request: pytest.FixtureRequest, shape: str, padding: dict[str, Any]) -> None:
    ours, stock = both(request, shape)
    rng = random.Random(1)
    texts: list[Any] = [
        "",
        "a",
        generated_text(rng, 300),
        *(generated_text(rng, 10_000) for _ in range(3)),
        "a" * 10_000,
    ]
    inputs = [*texts, (texts[2], texts[2])]
    for each in (ours, stock):
        each.enable_truncation(400)
        each.enable_padding(**padding)
    for threads in (1, 2):
        found, wanted = ours.encode_batch(inputs, threads=threads), stock.encode_batch(inputs)
        assert not [differences(*pair, deep=False) for pair in zip(found, wanted, strict=True) if differences(*pair)]
    for one, other in zip(ours.encode_batch_fast(texts), stock.encode_batch_fast(texts), strict=True):
        left = [name for name in differences(one, other) if name.split(": ")[-1] not in ("tokens", "word_ids")]
        assert not left  # the library's fast encodings have neither field


def test_errors_are_the_same(request: pytest.FixtureRequest) -> None:
    ours, stock = both(request, "template_like")
    text = generated_text(random.Random(2), 10_000)
    for length, options in (
        (2, {}),
        (3, {"stride": 0}),
        (6, {"strategy": "only_second"}),
        (6, {"strategy": "only_first"}),
    ):
        for each in (ours, stock):
            each.enable_truncation(length, **options)
        try:
            wanted = stock.encode(text)
        except Exception as error:  # the library raises plain Exception
            with pytest.raises(ValueError, match=str(error)):
                ours.encode(text)
        else:
            assert not differences(ours.encode(text), wanted)
    with pytest.raises(TypeError, match="surrogate"):
        ours.encode(text + "\ud800")

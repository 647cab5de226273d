"""Truncation of large texts reads only as much text as the kept tokens need, and keeps the same tokens."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, processors

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.stand_in_cases import trained

LARGE = 40_000
STRATEGIES = ("longest_first", "only_first", "only_second")


def source(kind: str = "byte_level", **flags: bool) -> str:
    tokenizer = Tokenizer.from_str(trained(kind))
    tokenizer.add_tokens([AddedToken("<end>", **flags), AddedToken("two words")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<end> $A <end>",
        pair="<end> $A <end> $B:1 <end>:1",
        special_tokens=[("<end>", tokenizer.token_to_id("<end>"))],
    )
    return str(tokenizer.to_str())


def a_text(rng: random.Random, size: int) -> str:
    generated = reference_impl.generated_text(rng, 8000)
    pieces = [generated[at : at + 400] for at in range(0, 8000, 400)]
    pieces += ["<end>", " two words", "naïve 東京 ", "1234567", "\n\n", "     ", "é" * 40]
    out = ""
    while len(out) < size:
        out += rng.choice(pieces)
    return out


def kept(first: int, second: int, most: int, strategy: str) -> tuple[int, int] | None:
    """How many tokens of two texts with `first` and `second` tokens truncation to `most` keeps, by the rules of
    ``tokenizers``; None if it refuses."""
    if most == 0:
        return 0, 0
    excess = first + second - most
    if excess <= 0:
        return first, second
    if strategy == "only_first":
        return (first - excess, second) if first > excess else None
    if strategy == "only_second":
        return (first, second - excess) if second > excess else None
    shorter = min(first, second)
    longer = shorter if shorter > most else max(shorter, most - shorter)
    if shorter + longer > most:
        shorter, longer = most // 2, most - most // 2
    return (longer, shorter) if first > second else (shorter, longer)


def plain_row(engine: _core.Engine, first: str, second: str | None, truncation: tuple[Any, ...]) -> list[int] | None:
    """The ids of a truncated text or pair, cut from the ids of whole texts. (A truncated encoding of the pair would
    also keep all overflowing combinations.)"""
    length, _, strategy, side = truncation
    end = engine.token_to_id("<end>")
    assert end is not None
    ids = [engine.encode_ids(text, False) for text in (first, second) if text is not None]
    most = length - 1 - len(ids)
    if second is None:
        sizes = (min(len(ids[0]), most),)
    else:
        found = kept(len(ids[0]), len(ids[1]), most, strategy)
        if found is None:
            return None
        sizes = found
    row = [end]
    for each, size in zip(ids, sizes, strict=True):
        row += [*(each[:size] if side == "right" else each[len(each) - size :]), end]
    return row


def row(engine: _core.Engine, first: str, second: str | None, truncation: tuple[Any, ...]) -> list[int] | None:
    pairs = None if second is None else [second]
    found = engine.encode_columns([first], pairs, truncation=truncation, columns=("input_ids",))
    return None if found is None else found["input_ids"][0]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("length", [7, 64, 511])
def test_texts_and_pairs(length: int, strategy: str, side: str) -> None:
    engine = reference_impl.open_engine(source())
    rng = random.Random(length)
    small, large = a_text(rng, 100), a_text(rng, LARGE)
    pairs: list[tuple[str, str | None]] = [(small, large), (large, small)]
    pairs += [(large, large[:-3000]), (large[:-3000], large), (small, "b")]
    if strategy == "longest_first":
        pairs += [(text, None) for text in (small, large, "", "a" * LARGE, " " * LARGE, "1" * LARGE)]
    truncation = (length, 0, strategy, side)
    for first, second in pairs:
        assert row(engine, first, second, truncation) == plain_row(engine, first, second, truncation)


def test_little_of_a_large_text_is_encoded() -> None:
    engine = reference_impl.open_engine(source())
    text = a_text(random.Random(1), 400_000)
    size = len(text.encode())

    def read(*truncation: object, second: list[str] | None = None) -> int:
        return _core._testing.encoded_bytes(engine, [text], second, truncation)

    assert read(512, 0, "longest_first", "right") < 50_000
    assert read(512, 0, "longest_first", "left") < 50_000
    assert read(513, 0, "longest_first", "right", second=[text]) < 100_000
    # An odd number of ids is left. The longer text gets one more, so both must be encoded whole.
    assert read(512, 0, "longest_first", "right", second=[text]) > 2 * size
    assert read(10**9, 0, "longest_first", "right") == size


@pytest.mark.parametrize("kind", ["word_piece", "unigram", "word_level", "llama"])
def test_texts_that_may_be_an_error_at_their_end_are_read_whole(kind: str) -> None:
    """For the kind "llama", no text's end can be an error, so its texts are not read whole."""
    engine = reference_impl.open_engine(trained(kind))
    text = "some words of a text " * 5000
    truncation = (16, 0, "longest_first", "right")
    read = _core._testing.encoded_bytes(engine, [text], None, truncation)
    assert read < 10_000 if kind == "llama" else read == len(text)
    assert row(engine, text, None, truncation) == engine.encode(text, truncation=truncation).ids

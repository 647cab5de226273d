"""Truncation of large texts reads only what gives the tokens that stay, and leaves the same ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, processors

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.stand_in_cases import trained

cpu = reference_impl.cpu

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
    """How many tokens of each are left, by the rules of ``tokenizers``; None where it refuses."""
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
    """Of ids of whole texts. (Whole encodings keep what is cut off, of pairs each piece with each.)"""
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
@pytest.mark.parametrize("length", [2, 64, 511])
def test_of_one_text(cpu: str, length: int, side: str) -> None:
    engine = reference_impl.open_engine(source())
    rng = random.Random(length)
    first = [a_text(rng, size) for size in (10, 3000, 20_000, LARGE)] + ["", "a" * LARGE, " " * LARGE, "1" * LARGE]
    truncation = (length, 0, "longest_first", side)
    for text in first:
        assert row(engine, text, None, truncation) == plain_row(engine, text, None, truncation)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("length", [7, 64, 511])
def test_of_pairs(length: int, strategy: str, side: str) -> None:
    engine = reference_impl.open_engine(source())
    rng = random.Random(length)
    small, large = a_text(rng, 100), a_text(rng, LARGE)
    pairs = [(small, large), (large, small), (large, large[:-3000]), (large[:-3000], large), (small, "b")]
    truncation = (length, 0, strategy, side)
    for first, second in pairs:
        assert row(engine, first, second, truncation) == plain_row(engine, first, second, truncation)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_plain_way_is_the_references(strategy: str, side: str) -> None:
    engine, reference = reference_impl.open_engine(source()), Tokenizer.from_str(source())
    rng = random.Random(1)
    for _ in range(8):
        first, second = a_text(rng, rng.randrange(200)), a_text(rng, rng.randrange(200))
        length = rng.randrange(4, 100)
        reference.enable_truncation(length, strategy=strategy, direction=side)
        try:
            want = reference.encode(first, second).ids
        except Exception:  # the reference's own has no type
            want = None
        assert plain_row(engine, first, second, (length, 0, strategy, side)) == want
        if strategy == "longest_first":
            assert plain_row(engine, first, None, (length, 0, strategy, side)) == reference.encode(first).ids


def test_little_of_a_large_text_is_encoded() -> None:
    engine = reference_impl.open_engine(source())
    text = a_text(random.Random(1), 400_000)
    size = len(text.encode())

    def read(*truncation: object, second: list[str] | None = None) -> int:
        return _core._testing.encoded_bytes(engine, [text], second, truncation)

    assert read(512, 0, "longest_first", "right") < 50_000
    assert read(512, 0, "longest_first", "left") < 50_000
    assert read(513, 0, "longest_first", "right", second=[text]) < 100_000
    # An odd number of ids is left: the longer of the two, which only all of both tells, gets one more.
    assert read(512, 0, "longest_first", "right", second=[text]) > 2 * size
    assert read(10**9, 0, "longest_first", "right") == size


def test_a_text_that_is_an_error_at_its_end_stays_one() -> None:
    tokenizer = Tokenizer.from_str(trained("byte_level"))
    tokenizer.add_tokens([AddedToken("<r>", rstrip=True), AddedToken(" ", lstrip=True, single_word=True)])
    engine = reference_impl.open_engine(tokenizer.to_str())
    text = "word," * 10_000 + "<r>  -"
    assert engine.encode_columns(["word," * 10_000], truncation=(16, 0, "longest_first", "right")) is not None
    with pytest.raises(ValueError, match="the same white space"):
        engine.encode_columns([text], truncation=(16, 0, "longest_first", "right"))


@pytest.mark.parametrize("kind", ["word_piece", "unigram", "word_level"])
def test_models_that_may_fail_read_all(kind: str) -> None:
    """They may find an error at the end of a text."""
    engine = reference_impl.open_engine(trained(kind))
    text = "some words of a text " * 5000
    assert _core._testing.encoded_bytes(engine, [text], None, (16, 0, "longest_first", "right")) == len(text)


def test_no_text_is_an_error_for_llama() -> None:
    engine = reference_impl.open_engine(trained("llama"))
    text = "some words of a text " * 5000
    for side in ("right", "left"):
        truncation = (16, 0, "longest_first", side)
        assert _core._testing.encoded_bytes(engine, [text], None, truncation) < 10_000
        assert row(engine, text, None, truncation) == engine.encode(text, truncation=truncation).ids

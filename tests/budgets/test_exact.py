"""Budget calls (ranges, cuts, splits, appends) with every kind of tokenizer, against encoding each text anew.

Truncation encodes only as much of a text as the kept tokens need. All fields of the encoding, and of its overflowing
encodings, equal the library's.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from crayon_hf import DelegatedWarning, TokenIndex, Tokenizer, VocabularyError
from parity.components.cases import random_case, single_cases
from tests.budgets.against import Against
from tests.encode.test_stream_encoder import TEXT_SHAPES, text_of
from tests.support import encode_shapes
from tests.support.reference_impl import RECORD, generated_text
from tests.support.sampling import sampled


def against(document: str, mode: str = "exact") -> Against:
    unlimited: dict[str, Any] = {**json.loads(document), "truncation": None, "padding": None}
    ours = Tokenizer.from_str(json.dumps(unlimited), mode=mode)
    bare = {**unlimited, "post_processor": None}
    ranges = None
    if "Precompiled" not in json.dumps(bare["normalizer"]):  # its offsets depend on distant text before
        untrimmed = Tokenizer.from_str(json.dumps(bare), mode=mode)

        def ranges(text: str) -> list[tuple[int, int]]:
            return untrimmed.encode(text, add_special_tokens=False).offsets

    return Against(ours, lambda text: ours.encode(text, add_special_tokens=False).ids, ranges)


def check(held: Against, rng: random.Random, texts: int, pieces: tuple[int, ...] = (3, 30, 300)) -> None:
    for _ in range(texts):
        text = text_of(rng, rng.choice(pieces))
        try:
            held.count(text)
        except ValueError:
            continue  # no tokenizer can encode it
        held.index(rng, text, ranges=10)
        held.cut(rng, text)
        held.split(rng, text[:300])
        held.append(rng, text, changes=10)


@pytest.mark.parametrize("shape", [*encode_shapes.SHAPES, *TEXT_SHAPES])
def test_every_shape(shape: str) -> None:
    document = json.dumps(TEXT_SHAPES[shape]) if shape in TEXT_SHAPES else encode_shapes.vocabulary(shape)
    held = against(document)
    assert held.ours.engine == "native"
    check(held, random.Random(shape), texts=15)
    assert held.done > 500


@pytest.mark.parametrize("shape", ["gpt2", "llama3", "llama2", "bert"])
def test_greedy_mode(shape: str) -> None:
    document = json.dumps(TEXT_SHAPES[shape]) if shape in TEXT_SHAPES else encode_shapes.vocabulary(shape)
    check(against(document, mode="greedy"), random.Random(shape), texts=8)


COMPONENTS = [case for case in single_cases() if not case.name.startswith("decoder/")]


@pytest.mark.parametrize("part", range(4))
def test_every_component(part: int) -> None:
    rng, done = random.Random(part), 0
    cases = [case for case in COMPONENTS[part::4] if zlib.crc32(case.name.encode()) % 4 == 0]
    for case in [*cases, *map(random_case, range(900 * part, 900 * part + 12))]:
        if case.document["model"].get("dropout") or case.delegated:
            continue
        try:
            held = against(case.json)
        except VocabularyError:
            continue  # the reference refuses it, too
        with contextlib.suppress(ValueError):  # a range that no tokenizer can encode
            check(held, rng, texts=3, pieces=(3, 30, 120))
        done += held.done
    assert done > 1000


@pytest.mark.parametrize("shape", ["gpt2", "llama3", "qwen", "llama2", "t5", "bert"])
def test_texts_without_seams(shape: str) -> None:
    document = json.dumps(TEXT_SHAPES[shape]) if shape in TEXT_SHAPES else encode_shapes.vocabulary(shape)
    held, rng = against(document), random.Random(1)
    for text in ("a" * 3000, "1" * 3000, "e\u0301" * 1000, "\U0001f469\u200d\U0001f4bb" * 700, " " * 3000):
        held.index(rng, text, ranges=10)
        held.cut(rng, text)
        held.append(rng, text[:400], changes=6)


@pytest.mark.parametrize("shape", ["llama3", "cl100k", "o200k"])
def test_ranges_that_begin_inside_a_number(shape: str) -> None:
    """Patterns cut runs of digits in threes from the left, so the ids of a range depend on where it begins in a run."""
    held = against(encode_shapes.vocabulary(shape))
    text = "".join(f" some words before a number {'12345678' * n}" for n in (10, 25, 7, 30) * 3)
    index = TokenIndex(held.ours, text)
    for start in range(0, len(text), 5):
        for end in (start + 150, start + 500, len(text)):
            held.same(index.ids(start, end), held.ids(text[start:end]), f"ids({start}, {end})", text)


@pytest.mark.usefixtures("refusing")
def test_delegated(wordpiece_like: Path) -> None:
    with pytest.warns(DelegatedWarning):
        held = against(wordpiece_like.read_text(encoding="utf-8"))
    assert held.ours.engine == "delegated"
    check(held, random.Random(1), texts=5)


# -- truncation encodes only as much of a text as the kept tokens need, with the library's fields

STOPS = ("gpt2_like", "llama3_like", "qwen_like", "roberta_like")
SHAPES = (*STOPS, "template_like", "llama2", "mistral")


def differences(ours: Any, wanted: Any, deep: bool = True) -> list[str]:
    """The names of fields that differ between two encodings and, if `deep`, between their overflowing encodings."""
    found = [name for name in RECORD if getattr(ours, name) != getattr(wanted, name)]
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

"""Budget calls (ranges, cuts, splits, appends) with every kind of tokenizer, against encoding each text anew."""

from __future__ import annotations

import contextlib
import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import DelegatedWarning, TokenIndex, Tokenizer, VocabularyError
from parity.components.cases import random_case, single_cases
from tests.budgets.against import Against
from tests.encode.test_stream_encoder import TEXT_SHAPES, text_of
from tests.support import encode_shapes


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

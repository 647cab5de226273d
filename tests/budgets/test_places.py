"""Truncation at paragraphs, sentences and words."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

import crayon_hf
from crayon_hf.budgets.boundaries import finders
from crayon_hf.budgets.places import KINDS

TEXT = (
    "Ask, and it shall be given you; seek, and ye shall find. Knock!\n\nFor every one that asketh receiveth.\n"
    "And he that seeketh findeth?  So it is.\n \n\nOr what man is there of you, whom if his son ask bread, will "
    "he give him a stone?\n\n\u4e2d\u6587\u53e5\u5b50\u3002 naivet\u00e9 e\u0301 end"
)
HAS_ICU = find_spec("icu4py") is not None


@pytest.fixture
def icu() -> None:
    pytest.importorskip("icu4py")


@pytest.fixture(scope="module")
def tokenizer(llama3_like: Path) -> crayon_hf.Tokenizer:
    return crayon_hf.Tokenizer.from_file(llama3_like)


def boundaries_of(text: str, kind: str) -> list[int]:
    (finder,) = finders(text, [kind])
    return [at for at in range(1, len(text)) if finder.first(at, at + 1) is not None]


def expected(tokenizer: crayon_hf.Tokenizer, text: str, most: int, side: str, kind: str) -> str:
    """The plain algorithm: try all boundaries from the end of the last token that fits, and encode each part anew."""
    whole = tokenizer.truncate_text(text, most, side=side)  # type: ignore[arg-type]
    if whole in (text, ""):
        return whole
    for each in KINDS[KINDS.index(kind) :]:
        if side == "right":
            parts = [text[:at] for at in reversed(boundaries_of(text, each)) if at <= len(whole)]
        else:
            parts = [text[at:] for at in boundaries_of(text, each) if at >= len(text) - len(whole)]
        for part in parts:
            if len(tokenizer.encode(part).ids) <= most:
                return part
    return whole


@pytest.mark.slow
@pytest.mark.usefixtures("icu")
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_boundary_that_fits(tokenizer: crayon_hf.Tokenizer, kind: str, side: str) -> None:
    rng = random.Random(kind)
    seen = set()
    for text in (
        TEXT,
        TEXT[::-1],
        TEXT * 3,
        "a" + "\n" * 3000 + "b c" + " " * 3000 + "d",
        *("".join(rng.choices([*TEXT, "\n", "\n\n"], k=200)) for _ in range(10)),
    ):
        for most in range(1, 120, 2):
            found = tokenizer.truncate_text(text, most, side=side, boundary=kind)  # type: ignore[arg-type]
            assert found == expected(tokenizer, text, most, side, kind)
            seen.add(found)
    assert len(seen) > 50


@pytest.mark.skipif(HAS_ICU, reason="icu4py is installed")
def test_a_missing_extra_is_named(tokenizer: crayon_hf.Tokenizer) -> None:
    with pytest.raises(crayon_hf.MissingExtraError, match=r"python -m pip install '\.\[chunks\]'"):
        tokenizer.truncate_text(TEXT, 5, boundary="word")

"""Checks `split_text`: properties of the chunks by encoding them anew, and for short texts equality with the plain
twin."""

from __future__ import annotations

import io
import random
import re
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import crayon_hf
from tests.budgets.plain_chunks import PlainIndex, every_place, ranges

if TYPE_CHECKING:
    from tests.budgets.against import Against

SPACES = re.compile(r"\s+")
KINDS: tuple[Any, ...] = (None, SPACES, ["paragraph", SPACES], lambda text: range(0, len(text), 7))
if find_spec("icu4py") is not None:
    KINDS += ("paragraph", "sentence", "word")
SHORT = 120


class ReferenceIndex(PlainIndex):
    """A `PlainIndex` that counts with the reference library. Its longest ranges are those of our tokenizer, which
    `Against.index` compares."""

    def __init__(self, against: Against, text: str) -> None:
        super().__init__(against.ours, text)
        self._against = against

    def count(self, start: int, end: int) -> int:
        return self._against.count(self.text[start:end])


def check(against: Against, rng: random.Random, text: str) -> None:
    """Split a text with a random limit, overlap and kind of boundary, and check the chunks."""
    if rng.random() < 0.3:
        text = text[: rng.randrange(SHORT)]
    most, kind = rng.choice((1, 2, 5, 20, 100)), rng.choice(KINDS)
    overlap = rng.choice((0, min(1, most - 1), most // 4, most - 1))
    strip = rng.random() < 0.4
    call = f"split_text({most}, {overlap}, {kind}, strip={strip})"
    try:
        chunks = against.ours.split_text(text, most, overlap, kind, strip=strip)
    except ValueError as error:
        character = next(each for each in text if repr(each) in str(error))
        against.same(against.count(character) > most, True, f"{call}: {error}", text)
        return
    check_chunks(against, chunks, text, most, overlap, call, strip)
    if len(text) <= SHORT:
        expected = ranges(ReferenceIndex(against, text), every_place(text, kind), most, overlap, strip)
        against.same([(chunk.start, chunk.end) for chunk in chunks], expected, call, text)
    elif rng.random() < 0.1:
        files = list(against.ours.split_file(io.BytesIO(text.encode()), most, overlap, kind, strip=strip))
        against.same(files, chunks, f"{call} of a file", text)


def check_chunks(
    against: Against,
    chunks: list[crayon_hf.budgets.Chunk],
    text: str,
    most: int,
    overlap: int,
    call: str,
    strip: bool = False,
) -> None:
    """Check that each chunk is the text in its range, has the ids of this text, and has at most `most` tokens. Together
    the chunks cover the text.

    With `strip`, white space between and around chunks is left out.
    """
    data = text.encode()
    for chunk in chunks:
        places = text[chunk.start : chunk.end], data[chunk.byte_start : chunk.byte_end].decode()
        against.same((chunk.text, chunk.text), places, f"a place of {call}", text)
        against.same((chunk.ids, len(chunk.ids) <= most), (against.ids(chunk.text), True), f"a chunk of {call}", text)
    end = 0
    for before, chunk in pairwise([crayon_hf.budgets.Chunk("", -1, 0, 0, 0, []), *chunks]):
        between = text[before.end : chunk.start]
        gap = not between or (strip and between.isspace())
        in_order = before.start < chunk.start and before.end < chunk.end and gap
        against.same(chunk.text.strip() if strip else chunk.text, chunk.text, f"the ends of {call}", text)
        shared = against.count(text[chunk.start : before.end])
        against.same((in_order, shared <= overlap), (True, True), f"an overlap of {call}", text)
        end = chunk.end
    against.same(end, len(text.rstrip() if strip else text), f"the end of {call}", text)

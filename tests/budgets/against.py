"""Compares calls of `crayon_hf.budgets` with their plain twins, which encode every text anew with a reference
library."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import crayon_hf
from crayon_hf.budgets.boundaries import finders
from crayon_hf.fallback import budgets as plain

Ids = Callable[[str], list[int]]
Ranges = Callable[[str], list[tuple[int, int]]]


class Different(AssertionError):
    """A call returned another result than its twin. The message has the call and the text."""


class Against:
    """Compares calls of the tokenizer `ours` with `ids`, the reference's function from a text to its ids without
    special tokens.

    `ranges` is the reference's function from a text to its tokens' untrimmed character ranges. Without it, the places
    that calls return are only checked to fit the limit.
    """

    def __init__(self, ours: crayon_hf.Tokenizer, ids: Ids, ranges: Ranges | None) -> None:
        self.ours = ours
        self.ids = ids
        self._ranges = ranges
        self.done = 0

    def same(self, ours: Any, wanted: Any, call: str, text: str) -> None:
        self.done += 1
        if ours != wanted:
            raise Different(f"{call} is {ours!r}, expected {wanted!r}, of {text!r}")

    def count(self, text: str) -> int:
        return len(self.ids(text))

    # -- one comparison of each kind

    def index(self, rng: random.Random, text: str, ranges: int) -> None:
        """Compare `TokenIndex` for random ranges of a text, most of them short, and its longest ranges that fit a
        limit."""
        index = crayon_hf.TokenIndex(self.ours, text)
        for _ in range(ranges):
            start, end = range_of(rng, len(text))
            self.same(index.count(start, end), self.count(text[start:end]), f"count({start}, {end})", text)
            if rng.random() < 0.2:
                self.same(index.ids(start, end), self.ids(text[start:end]), f"ids({start}, {end})", text)
            if rng.random() < 0.2:
                most = rng.choice((0, 1, 2, 3, 10, 100))
                if rng.random() < 0.5:
                    at = index.longest(start, most)
                    self._check_place(text[start:], at - start, most, False, f"longest({start}, {most})")
                else:
                    at = index.longest_before(end, most)
                    self._check_place(text[:end], at, most, True, f"longest_before({end}, {most})")

    def cut(self, rng: random.Random, text: str) -> None:
        """Compare truncating and counting one text."""
        whole = self.count(text)
        most = rng.choice((rng.randrange(whole + 2), rng.randrange(min(whole, 12) + 2)))
        counted = self.ours.count_tokens(text, add_special_tokens=False, limit=most)
        self.same(counted, min(whole, most + 1), f"count_tokens(limit={most})", text)
        self.same(self.ours.fits(text, most, add_special_tokens=False), whole <= most, f"fits({most})", text)
        right = self.ours.truncate_text(text, most, add_special_tokens=False)
        self.same(text.startswith(right), True, "the beginning", text)
        self._check_place(text, len(right), most, False, f"truncate_text({most})")
        left = self.ours.truncate_text(text, most, side="left", add_special_tokens=False)
        self.same(text.endswith(left), True, "the end", text)
        self._check_place(text, len(text) - len(left), most, True, f"truncate_text({most}, 'left')")

    def split(self, rng: random.Random, text: str) -> None:
        """Compare splitting one text into chunks."""
        check_split(self, rng, text)

    def append(self, rng: random.Random, text: str, changes: int) -> None:
        """Compare `Appender` for a text that grows piece by piece at both ends, and shrinks again."""
        appender, now = crayon_hf.Appender(self.ours), ""
        before: list[int] = []
        for _ in range(changes):
            start, end = range_of(rng, len(text))
            piece, kind = text[start:end], rng.random()
            if kind < 0.55:
                now, kept, call = now + piece, appender.append(piece), f"append({piece!r})"
            elif kind < 0.75:
                now, kept, call = piece + now, appender.prepend(piece), f"prepend({piece!r})"
            else:
                n = rng.randrange(min(len(now), rng.choice((3, 30, 1000))) + 1)
                now, kept, call = now[: len(now) - n], appender.pop(n), f"pop({n})"
            ids = self.ids(now)
            self.same(appender.ids, ids, call, now)
            self.same((appender.count, len(appender)), (len(ids), len(now)), f"the size after {call}", now)
            turn = -1 if call.startswith("prepend") else 1
            self.same(kept, same_begin(before[::turn], ids[::turn]), f"what {call} kept", now)
            self.same(appender.ids_from(kept), ids[kept:], f"ids_from({kept}) after {call}", now)
            before = ids
        self.same(appender.text, now, "text", now)

    def _check_place(self, text: str, at: int, most: int, keeps_end: bool, call: str) -> None:
        part = text[at:] if keeps_end else text[:at]
        self.same(self.count(part) <= most, True, f"{call} = {at} fits", text)
        if self._ranges is not None:
            self.same(at, self._place(text, most, keeps_end), call, text)

    def _place(self, text: str, most: int, keeps_end: bool) -> int:
        """The plain twin of truncation: the first place for a cut at which the kept part has at most `most` tokens."""
        assert self._ranges is not None
        if self.count(text) <= most:
            return 0 if keeps_end else len(text)
        for at in plain.places(self._ranges(text), most, len(text), keeps_end):
            if self.count(text[at:] if keeps_end else text[:at]) <= most:
                return at
        return len(text) if keeps_end else 0


def range_of(rng: random.Random, size: int) -> tuple[int, int]:
    """A random range of a text of `size` characters, most often a short one."""
    length = min(size, int(2 ** rng.uniform(0, 13)) if rng.random() < 0.3 else rng.randrange(60))
    start = rng.randrange(size - length + 1)
    return start, start + length


def same_begin(before: list[int], after: list[int]) -> int:
    """The number of equal ids at the beginning of two lists."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


SPACES = re.compile(r"\s+")
KINDS: tuple[Any, ...] = (None, SPACES, ["paragraph", SPACES], lambda text: range(0, len(text), 7))
if find_spec("icu4py") is not None:
    KINDS += ("paragraph", "sentence", "word")
SHORT = 120


class PlainIndex:
    """The plain twin of `TokenIndex`, which encodes each range anew."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        self.tokenizer = tokenizer
        self.text = text

    def ids(self, start: int, end: int) -> list[int]:
        return self.tokenizer.encode(self.text[start:end], add_special_tokens=False).ids

    def count(self, start: int, end: int) -> int:
        return len(self.ids(start, end))

    def longest(self, start: int, max_tokens: int) -> int:
        part = self.text[start:]
        return start + len(self.tokenizer.truncate_text(part, max_tokens, add_special_tokens=False))

    def longest_before(self, end: int, max_tokens: int) -> int:
        part = self.text[:end]
        return end - len(self.tokenizer.truncate_text(part, max_tokens, "left", add_special_tokens=False))


class ReferenceIndex(PlainIndex):
    """A `PlainIndex` that counts with the reference library. Its longest ranges are those of our tokenizer, which
    `Against.index` compares."""

    def __init__(self, against: Against, text: str) -> None:
        super().__init__(against.ours, text)
        self._against = against

    def count(self, start: int, end: int) -> int:
        return self._against.count(self.text[start:end])


def check_split(against: Against, rng: random.Random, text: str) -> None:
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


def every_place(text: str, boundaries: Any) -> list[list[int]]:
    """All places of `text` that are boundaries, in one list for each kind of boundary, the coarsest kind first."""
    found = []
    for finder in finders(text, boundaries):
        place, places = finder.first(0, len(text) + 1), []
        while place is not None:
            places.append(place)
            place = finder.first(place + 1, len(text) + 1)
        found.append(places)
    return found


def ranges(
    index: PlainIndex, kinds: list[list[int]], room: int, overlap: int, strip: bool = False
) -> list[tuple[int, int]]:
    """(start, end) of the chunks of a text. `kinds` is the result of `every_place`, and `room` the most tokens of a
    chunk."""
    made = []
    start = end = 0
    while _new(index.text, end, strip) < len(index.text):
        start, end = _next(index, kinds, room, overlap, start, end, strip)
        made.append((start, end))
    return made


def _new(text: str, at: int, strip: bool) -> int:
    return len(text) - len(text[at:].lstrip()) if strip else at


def _end(text: str, start: int, at: int, strip: bool) -> int:
    return start + len(text[start:at].rstrip()) if strip else at


def _next(
    index: PlainIndex, kinds: list[list[int]], room: int, overlap: int, start: int, end: int, strip: bool
) -> tuple[int, int]:
    new = _new(index.text, end, strip)
    farthest = index.longest(new, room)
    if overlap and start < end:
        limit = _new(index.text, farthest, strip)
        pieces = [min(inside) for kind in kinds if (inside := [at for at in kind if new < at <= limit])]
        piece = _end(index.text, new, pieces[0], strip) if pieces else new + 1
        closest = max(start + 1, index.longest_before(end, overlap), index.longest_before(piece, room))
        begins = [[at for at in kind if closest <= at < end and not index.text[at:end].isspace()] for kind in kinds]
        for place in [*(at for kind in begins for at in sorted(kind)), closest]:
            begin = _new(index.text, place, strip)
            if begin < end and index.count(begin, end) <= overlap and index.count(begin, piece) <= room:
                stop = _stop(index, kinds, room, begin, new, max(piece, index.longest(begin, room)), strip)
                if stop is not None:
                    return begin, stop
                break
    stop = _stop(index, kinds, room, new, new, farthest, strip)
    if stop is None:
        raise ValueError(f"{index.text[new]!r} does not fit")
    return new, stop


def _stop(
    index: PlainIndex, kinds: list[list[int]], room: int, begin: int, done: int, farthest: int, strip: bool
) -> int | None:
    limit = _new(index.text, farthest, strip)
    every = [[at for at in kind if done < at <= limit] for kind in kinds]
    for places in [*every, [*range(done + 1, farthest + 1)]]:
        ends = {_end(index.text, done, at, strip) for at in places}
        if fit := [at for at in ends if at == farthest or index.count(begin, at) <= room]:
            return max(fit)
    return done + 1 if index.count(begin, done + 1) <= room else None

"""The plain twin of `crayon_hf.budgets.chunks`: it encodes every range anew and tries all boundaries."""

from __future__ import annotations

from typing import Any

from crayon_hf.budgets.boundaries import finders


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

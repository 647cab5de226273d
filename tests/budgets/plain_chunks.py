"""The plain twin of `crayon_hf.budgets.chunks`: every question is answered by encoding anew and by going through all
boundaries."""

from __future__ import annotations

from typing import Any

from crayon_hf.budgets.boundaries import finders


class PlainIndex:
    """`TokenIndex`, by encoding each range."""

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
    """All boundaries of each kind, the coarsest first."""
    found = []
    for finder in finders(text, boundaries):
        place, places = finder.first(0, len(text) + 1), []
        while place is not None:
            places.append(place)
            place = finder.first(place + 1, len(text) + 1)
        found.append(places)
    return found


def spans(index: PlainIndex, kinds: list[list[int]], room: int, overlap: int) -> list[tuple[int, int]]:
    """From where to where the chunks are. `kinds` are all boundaries of each kind, the coarsest first."""
    size, made = len(index.text), []
    start = end = 0
    while end < size:
        start, end = _next(index, kinds, room, overlap, start, end)
        made.append((start, end))
    return made


def _next(index: PlainIndex, kinds: list[list[int]], room: int, overlap: int, start: int, end: int) -> tuple[int, int]:
    farthest = index.longest(end, room)
    if overlap and start < end:
        pieces = [min(inside) for kind in kinds if (inside := [at for at in kind if end < at <= farthest])]
        piece = pieces[0] if pieces else end + 1
        closest = max(start + 1, index.longest_before(end, overlap), index.longest_before(piece, room))
        begins = [[at for at in kind if closest <= at < end and not index.text[at:end].isspace()] for kind in kinds]
        for begin in [*(at for kind in begins for at in sorted(kind)), closest]:
            if begin < end and index.count(begin, end) <= overlap and index.count(begin, piece) <= room:
                stop = _stop(index, kinds, room, begin, end, max(piece, index.longest(begin, room)))
                if stop is not None:
                    return begin, stop
                break
    stop = _stop(index, kinds, room, end, end, farthest)
    if stop is None:
        raise ValueError(f"{index.text[end]!r} does not fit")
    return end, stop


def _stop(index: PlainIndex, kinds: list[list[int]], room: int, begin: int, done: int, farthest: int) -> int | None:
    for kind in kinds:
        fit = [at for at in kind if done < at <= farthest and index.count(begin, at) <= room]
        if fit:
            return max(fit)
    if farthest > done:
        return farthest
    return done + 1 if index.count(begin, done + 1) <= room else None

"""Faults of chunks: too many tokens, words and sentences cut, altered text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

Span = tuple[int, int]


@dataclass
class Measured:
    """The faults of one chunker's chunks, summed over all texts."""

    chunks: int = 0
    tokens: int = 0
    over: int = 0
    largest: int = 0
    words: int = 0
    """Borders between chunks that are inside a word."""
    sentences: int = 0
    altered: int = 0
    """Chunks that do not occur in the text."""


def measure(into: Measured, text: str, made: list[Any], count: Callable[[str], int], budget: int) -> None:
    """Add the faults of the chunks `made` from one text. `count` returns a text's tokens, `budget` is the limit of a
    chunk."""
    ranges = _located(text, made)
    into.altered += len(made) - len(ranges)
    sizes = [count(each if isinstance(each, str) else text[each[0] : each[1]]) for each in made]
    into.chunks += len(sizes)
    into.tokens += sum(sizes)
    into.over += sum(size > budget for size in sizes)
    into.largest = max(into.largest, *sizes)
    words, sentences = boundaries(text)
    for (_, end), (start, _) in pairwise(ranges):
        into.words += not any(place in words for place in range(end, start + 1))
        into.sentences += not any(place in sentences for place in range(end, start + 1))


def boundaries(text: str) -> tuple[set[int], set[int]]:
    """Return Unicode's boundaries of words and of sentences, as ICU finds them."""
    from icu4py.breakers import SentenceBreaker, WordBreaker

    return tuple(  # type: ignore[return-value]
        {*accumulate(map(len, kind(text, "und")), initial=0)} for kind in (WordBreaker, SentenceBreaker)
    )


def _located(text: str, made: list[Any]) -> list[Span]:
    """Return the places of chunks in the text, each searched after the place before. Omits chunks that are not
    found."""
    ranges: list[Span] = []
    end = 0
    for each in made:
        if isinstance(each, str):
            start = text.find(each, end)
            if start < 0:
                continue
            each = start, start + len(each)
        ranges.append(each)
        end = each[1]
    return ranges

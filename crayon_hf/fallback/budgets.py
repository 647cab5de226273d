"""Token budgets for tokenizers that a reference library encodes: encode whole texts, and count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Range = tuple[int, int]
"""The characters of a token, as (start, end)."""


def truncation_place(
    engine: Any, text: str, max_tokens: int, keeps_end: bool, add_special_tokens: bool, special_as_text: bool
) -> int:
    """Return where to cut a text to at most `max_tokens` tokens, like `_core.Engine.truncation_place`.

    With `keeps_end` the text after that place is kept, otherwise the text before it.
    """
    added = engine.num_special_tokens_to_add(False) if add_special_tokens else 0
    if added > max_tokens:
        raise ValueError(f"max_tokens is {max_tokens}: the special tokens around a text alone are {added}")

    def fits(part: str) -> bool:
        return len(engine.encode_ids(part, add_special_tokens, special_as_text)) <= max_tokens

    if fits(text):
        return 0 if keeps_end else len(text)
    ranges = engine.ids_and_ranges(text, special_as_text)[1]
    for at in places(ranges, max_tokens - added, len(text), keeps_end):
        if fits(text[at:] if keeps_end else text[:at]):
            return at
    return len(text) if keeps_end else 0


def places(ranges: list[Range], most: int, size: int, keeps_end: bool) -> Iterator[int]:
    """Yield the places where a text of at most `most` tokens can end (with `keeps_end`, begin), longest text first.

    No place is inside a token, or inside a character that has several tokens.
    """
    ends, starts = [0], [size]
    for _, end in ranges:
        ends.append(max(ends[-1], end))
    for start, _ in reversed(ranges):
        starts.append(min(starts[-1], start))
    starts.reverse()
    for kept in range(min(most, len(ranges)), -1, -1):
        at = len(ranges) - kept if keeps_end else kept
        if ends[at] <= starts[at]:
            yield starts[at] if keeps_end else ends[at]


class TokenIndex:
    """Replaces the compiled index of `crayon_hf.TokenIndex`, which passes ranges inside the text.

    Each call encodes its range.
    """

    def __init__(self, engine: Any, text: str, special_as_text: bool) -> None:
        self._engine = engine
        self._text = text
        self._special_as_text = special_as_text
        engine.encode_ids(text, False, special_as_text)  # reports an invalid text at once

    def ids(self, start: int, end: int) -> list[int]:
        ids: list[int] = self._engine.encode_ids(self._text[start:end], False, self._special_as_text)
        return ids

    def count(self, start: int, end: int) -> int:
        return len(self.ids(start, end))

    def longest(self, start: int, max_tokens: int) -> int:
        return start + self._place(self._text[start:], max_tokens, False)

    def longest_before(self, end: int, max_tokens: int) -> int:
        return self._place(self._text[:end], max_tokens, True)

    def _place(self, text: str, max_tokens: int, keeps_end: bool) -> int:
        return truncation_place(self._engine, text, max_tokens, keeps_end, False, self._special_as_text)


class Appender:
    """Replaces the compiled appender of `crayon_hf.Appender`. Each change encodes the whole text again."""

    def __init__(self, engine: Any, special_as_text: bool) -> None:
        self._engine = engine
        self._special_as_text = special_as_text
        self.text = ""
        self._ids: list[int] = []

    @property
    def count(self) -> int:
        return len(self._ids)

    @property
    def characters(self) -> int:
        return len(self.text)

    def ids_from(self, start: int) -> list[int]:
        return self._ids[start:]

    def append(self, text: str) -> int:
        before = self._replace(self.text + text)
        return _same(before, self._ids)

    def prepend(self, text: str) -> int:
        before = self._replace(text + self.text)
        return _same(before[::-1], self._ids[::-1])

    def pop(self, characters: int) -> int:
        before = self._replace(self.text[: len(self.text) - characters])
        return _same(before, self._ids)

    def _replace(self, text: str) -> list[int]:
        ids = self._engine.encode_ids(text, False, self._special_as_text)
        before, self._ids, self.text = self._ids, ids, text
        return before


def _same(before: list[int], after: list[int]) -> int:
    """The number of equal ids at the beginning of two lists."""
    n = 0
    for a, b in zip(before, after, strict=False):
        if a != b:
            break
        n += 1
    return n

"""Budgets the plain way, for tokenizers that the engine does not support: encode the text whole, and look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Span = tuple[int, int]
"""The characters that a token stands for: from, to."""


def truncate_text(
    engine: Any, text: str, max_tokens: int, keeps_end: bool, add_special_tokens: bool, special_as_text: bool
) -> str:
    """What `Tokenizer.truncate_text` says, without a boundary."""
    whole = engine.encode_ids(text, add_special_tokens, special_as_text)
    if len(whole) <= max_tokens:
        return text
    _, spans = _ids_and_spans(engine, text, special_as_text)
    room = max_tokens - (engine.num_special_tokens_to_add(False) if add_special_tokens else 0)
    for at in _places(spans, room, len(text), keeps_end):
        part = text[at:] if keeps_end else text[:at]
        if len(engine.encode_ids(part, add_special_tokens, special_as_text)) <= max_tokens:
            return part
    return ""


def _ids_and_spans(engine: Any, text: str, special_as_text: bool) -> tuple[list[int], list[Span]]:
    if hasattr(engine, "ids_and_spans"):
        return engine.ids_and_spans(text, special_as_text)  # type: ignore[no-any-return]
    encoding = engine.encode(text, None, False, False, special_as_text)
    return encoding.ids, encoding.offsets


def _places(spans: list[Span], most: int, size: int, keeps_end: bool) -> Iterator[int]:
    """Where a text of at most so many tokens can end or, if it `keeps_end`, begin: the longest first.

    Only where no token lies on both sides, as those of a character that is several tokens do.
    """
    ends, starts = [0], [size]
    for _, end in spans:
        ends.append(max(ends[-1], end))
    for start, _ in reversed(spans):
        starts.append(min(starts[-1], start))
    starts.reverse()
    for kept in range(min(most, len(spans)), -1, -1):
        at = len(spans) - kept if keeps_end else kept
        if ends[at] <= starts[at]:
            yield starts[at] if keeps_end else ends[at]


class TokenIndex:
    """`crayon_hf.TokenIndex`, for ranges that lie inside the text."""

    def __init__(self, engine: Any, text: str, special_as_text: bool) -> None:
        self._engine = engine
        self._text = text
        self._special_as_text = special_as_text
        engine.encode_ids(text, False, special_as_text)  # what is no text is an error now

    def ids(self, start: int, end: int) -> list[int]:
        ids: list[int] = self._engine.encode_ids(self._text[start:end], False, self._special_as_text)
        return ids

    def count(self, start: int, end: int) -> int:
        return len(self.ids(start, end))

    def longest(self, start: int, max_tokens: int) -> int:
        return start + len(self._cut(self._text[start:], max_tokens, False))

    def longest_before(self, end: int, max_tokens: int) -> int:
        return end - len(self._cut(self._text[:end], max_tokens, True))

    def _cut(self, text: str, max_tokens: int, keeps_end: bool) -> str:
        return truncate_text(self._engine, text, max_tokens, keeps_end, False, self._special_as_text)


class Appender:
    """`crayon_hf.Appender`."""

    def __init__(self, engine: Any, special_as_text: bool) -> None:
        self._engine = engine
        self._special_as_text = special_as_text
        self.text = ""
        self._ids: list[int] = []

    @property
    def count(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> list[int]:
        return self._ids.copy()

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
    """With how many equal ids two lists begin."""
    n = 0
    for a, b in zip(before, after, strict=False):
        if a != b:
            break
        n += 1
    return n

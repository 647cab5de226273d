"""The tokens of ranges of a text that lie near each other, at a cost that does not grow with the text.

An index answers in microseconds where a text can be cut into parts. Where it cannot, as within a megabyte of one
letter, each answer takes the text from its place to the end. So the index is one of a part of the text, which moves on
and grows as far as an answer needs.
"""

from __future__ import annotations

from typing import Any


class NearIndex:
    """What `TokenIndex` answers, asked from the beginning of a text to its end.

    The longest ranges are those of a part of the text that goes on behind them for an eighth of its size. Only what
    stands farther off, in a text that has no place to be cut at in between, could make them others.
    """

    def __init__(self, engine: Any, text: str, special_as_text: bool, size: int) -> None:
        """`size` is that of a part, in characters."""
        self._engine = engine
        self._special_as_text = special_as_text
        self._text = text
        self._size = size
        self._least = 0
        self._move(0, size)

    def hold(self, start: int) -> None:
        """Say that nothing before `start` is asked for any more."""
        self._least = start

    def count(self, start: int, end: int) -> int:
        """How many tokens ``text[start:end]`` has."""
        self._cover(end)
        count: int = self._index.count(start - self._start, end - self._start)
        return count

    def ids(self, start: int, end: int) -> list[int]:
        """The ids of ``text[start:end]``."""
        self._cover(end)
        ids: list[int] = self._index.ids(start - self._start, end - self._start)
        return ids

    def longest(self, start: int, max_tokens: int) -> int:
        """The end of the longest range from `start` that has at most `max_tokens` tokens."""
        size = self._size
        while True:
            end: int = self._start + self._index.longest(start - self._start, max_tokens)
            if self._end == len(self._text) or end + (self._end - self._start) // 8 <= self._end:
                return end
            if self._start == self._least:
                size *= 2
            self._move(self._least, self._least + max(size, 2 * (end - self._least)))

    def longest_before(self, end: int, max_tokens: int) -> int:
        """The start of the longest range up to `end`, or what is held, if that is behind it."""
        self._cover(end)
        start: int = self._start + self._index.longest_before(end - self._start, max_tokens)
        return max(start, self._least)

    def _cover(self, end: int) -> None:
        if end > self._end:
            self._move(self._least, max(end, self._least + self._size))

    def _move(self, start: int, end: int) -> None:
        self._start, self._end = start, min(end, len(self._text))
        self._index = self._engine.token_index(self._text[start : self._end], self._special_as_text)

"""A token index for nearby ranges of a long text, at a cost that does not grow with the text.

`TokenIndex` answers in microseconds if the text can be cut into parts. Otherwise, as within a megabyte of one letter,
each answer processes the text from the queried range to the end. So this index covers only a part of the text, which
moves and grows as queries require.
"""

from __future__ import annotations

from typing import Any


class NearIndex:
    """`TokenIndex` for queries that proceed from the beginning of a text to its end.

    `longest` uses a part of the text that continues beyond the range by an eighth of the part. The result differs from
    that of `TokenIndex` only if text beyond the part affects the result, because the text between cannot be cut.
    """

    def __init__(self, engine: Any, text: str, special_as_text: bool, size: int) -> None:
        """`size` is the size of the indexed part of the text in characters, unless queries require more."""
        self._engine = engine
        self._special_as_text = special_as_text
        self._text = text
        self._size = size
        self._least = 0
        self._move(0, size)

    def hold(self, start: int) -> None:
        """Promise that no query will begin before `start`."""
        self._least = start

    def count(self, start: int, end: int) -> int:
        """The number of tokens of ``text[start:end]``."""
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
        """The start of the longest range up to `end` that has at most `max_tokens` tokens.

        The result is never before the place that was passed to `hold`.
        """
        self._cover(end)
        start: int = self._start + self._index.longest_before(end - self._start, max_tokens)
        return max(start, self._least)

    def _cover(self, end: int) -> None:
        if end > self._end:
            self._move(self._least, max(end, self._least + self._size))

    def _move(self, start: int, end: int) -> None:
        self._start, self._end = start, min(end, len(self._text))
        self._index = self._engine.token_index(self._text[start : self._end], self._special_as_text)

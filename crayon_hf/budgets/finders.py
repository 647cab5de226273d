"""Find boundaries in a text: the last one up to an offset, or the first one from an offset on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Protocol


class Finder(Protocol):
    """Finds the boundaries of one kind in one text. The beginning and the end of the text are boundaries, too."""

    def last(self, after: int, until: int) -> int | None:
        """The last boundary that is greater than `after` and at most `until`, or None."""

    def first(self, since: int, before: int) -> int | None:
        """The first boundary that is at least `since` and less than `before`, or None."""


class Fixed:
    """Finds boundaries in a list of offsets."""

    def __init__(self, text: str, places: Iterable[int]) -> None:
        self.places = sorted({0, *places, len(text)})

    def last(self, after: int, until: int) -> int | None:
        at = bisect_right(self.places, until)
        return self.places[at - 1] if at and self.places[at - 1] > after else None

    def first(self, since: int, before: int) -> int | None:
        at = bisect_left(self.places, since)
        return self.places[at] if at < len(self.places) and self.places[at] < before else None


class InLines:
    """Finds boundaries that `finder` computes for one line at a time, on demand."""

    def __init__(self, text: str, finder: Callable[[str], Iterable[str]]) -> None:
        self._text = text
        self._find = finder
        self._line = 0, 0
        self._places: list[int] = [0]

    def last(self, after: int, until: int) -> int | None:
        if until <= after:
            return None
        if self._is_edge(until):
            return until
        places = self._look(until)
        place = places[bisect_right(places, until) - 1]
        return place if place > after else None

    def first(self, since: int, before: int) -> int | None:
        if since >= before:
            return None
        if self._is_edge(since):
            return since
        places = self._look(since)
        place = places[bisect_left(places, since)]
        return place if place < before else None

    def _is_edge(self, place: int) -> bool:
        return place in (0, len(self._text)) or self._text[place - 1] == "\n"

    def _look(self, place: int) -> list[int]:
        """All boundaries in the line around `place`, including the line's edges."""
        start, end = self._line
        if not start < place < end:
            start = self._text.rfind("\n", 0, place) + 1
            end = self._text.find("\n", place) + 1 or len(self._text)
            self._places = list(accumulate(map(len, self._find(self._text[start:end])), initial=start))
            self._line = start, end
        return self._places

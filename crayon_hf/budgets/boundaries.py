"""Where a text may be cut: paragraphs, sentences, words, the matches of a pattern, or what a function says.

Sentences and words are those of Unicode (UAX 29) as ICU finds them; it knows the words of Thai, Chinese and Japanese.
Both end behind every newline, whatever stands around it. So a line is looked at by itself, and only when a cut is
looked for in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from crayon_hf.errors import MissingExtraError
from crayon_hf.util.extras import needed
from crayon_hf.util.validation import kind

if TYPE_CHECKING:
    Boundary: TypeAlias = str | re.Pattern[str] | Callable[[str], Iterable[int]]
    Boundaries: TypeAlias = Boundary | Sequence[Boundary] | None

_LINE_END = r"(?:\r\n|\r(?!\n)|[\n\u2029])"
_PARAGRAPHS = re.compile(rf"{_LINE_END}(?:[^\S\r\n\u2029]*{_LINE_END})+|\u2029")
"""The end of a line and empty lines behind it: the next paragraph begins where this ends."""


class Finder(Protocol):
    """Finds the boundaries of one kind in one text. The beginning and the end of the text are always two of them."""

    def last(self, after: int, until: int) -> int | None:
        """The last boundary that is greater than `after` and at most `until`; None where there is none."""

    def first(self, since: int, before: int) -> int | None:
        """The first boundary that is at least `since` and less than `before`; None where there is none."""


Level: TypeAlias = "Callable[[str], list[Finder]]"
"""Finders of one kind of boundaries in a text, the coarsest first."""


def levels(boundaries: Boundaries) -> list[Level]:
    """What looks for boundaries, the coarsest first.

    `boundaries` is ``"paragraph"``, ``"sentence"`` or ``"word"``, each with the finer ones behind it, a pattern, which
    cuts behind its matches, a function of a text that gives offsets in characters, a list of these, each of which then
    stands for itself alone, or None for no boundaries. ValueError or TypeError for anything else; MissingExtraError
    where the package that finds sentences and words is missing.
    """
    if boundaries is None:
        return []
    if isinstance(boundaries, str):
        return [_named(name) for name in _finer(boundaries)]
    if isinstance(boundaries, (list, tuple)):
        return [_one(each) for each in boundaries]
    return [_one(boundaries)]


def finders(text: str, boundaries: Boundaries) -> list[Finder]:
    """Finders of boundaries in a text, the coarsest first: see `levels`.

    >>> [paragraphs] = finders("One.\\n\\nTwo.", ["paragraph"])
    >>> paragraphs.last(0, 8)
    6
    """
    return [finder for level in levels(boundaries) for finder in level(text)]


class Fixed:
    """Boundaries that are all known."""

    def __init__(self, text: str, places: Iterable[int]) -> None:
        self.places = sorted({0, *places, len(text)})

    def last(self, after: int, until: int) -> int | None:
        at = bisect_right(self.places, until)
        return self.places[at - 1] if at and self.places[at - 1] > after else None

    def first(self, since: int, before: int) -> int | None:
        at = bisect_left(self.places, since)
        return self.places[at] if at < len(self.places) and self.places[at] < before else None


class InLines:
    """Boundaries within lines, found in one line at a time, when it is asked for."""

    def __init__(self, text: str, segments: Callable[[str], Iterable[str]]) -> None:
        self._text = text
        self._segments = segments
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
        """All boundaries in the line around a place inside of it, the line's own edges included."""
        start, end = self._line
        if not start < place < end:
            start = self._text.rfind("\n", 0, place) + 1
            end = self._text.find("\n", place) + 1 or len(self._text)
            self._places = list(accumulate(map(len, self._segments(self._text[start:end])), initial=start))
            self._line = start, end
        return self._places


def _finer(name: str) -> tuple[str, ...]:
    """A kind of boundaries, and what is tried where a text between two of them is too long."""
    order = tuple(_NAMED)
    if name not in order:
        known = ", ".join(map(repr, order))
        raise ValueError(f"boundaries is {name!r}, expected {known}, a compiled pattern or a function")
    return order[order.index(name) :]


def _one(boundary: Any) -> Level:
    if isinstance(boundary, str):
        return _named(_finer(boundary)[0])
    if hasattr(boundary, "finditer"):  # of re, or of the package regex
        return lambda text: [Fixed(text, (match.end() for match in boundary.finditer(text)))]
    if callable(boundary):
        return lambda text: [Fixed(text, _said(boundary, text))]
    raise TypeError(f"boundaries is {kind(boundary)}, expected str, a compiled pattern or a function")


def _said(function: Callable[[str], Iterable[int]], text: str) -> Iterator[int]:
    for place in function(text):
        if not hasattr(place, "__index__"):
            raise TypeError(f"the function of boundaries gave {kind(place)}, expected offsets, which are int")
        if not 0 <= place <= len(text):
            raise ValueError(f"the function of boundaries gave {place}, expected 0 to {len(text)}")
        yield int(place)


def _named(name: str) -> Level:
    return _NAMED[name]()


def _paragraphs() -> Level:
    return lambda text: [Fixed(text, (match.end() for match in _PARAGRAPHS.finditer(text)))]


def _sentences() -> Level:
    breaker = _icu().SentenceBreaker
    return lambda text: [InLines(text, lambda line: breaker(line, "und"))]


def _words() -> Level:
    breaker = _icu().WordBreaker
    return lambda text: [InLines(text, lambda line: breaker(line, "und"))]


def _icu() -> Any:
    try:
        with needed("finding sentences and words", "chunks"):
            from icu4py import breakers
    except MissingExtraError as error:
        advice = "Python 3.11 or later; without it boundaries can be a pattern, a function or ['paragraph']"
        raise MissingExtraError(f"{error} ({advice})", name=error.name, path=error.path) from error
    return breakers


_NAMED: dict[str, Callable[[], Level]] = {"paragraph": _paragraphs, "sentence": _sentences, "word": _words}
"""The coarsest first."""

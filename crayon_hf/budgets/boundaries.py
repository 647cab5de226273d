"""Boundaries where a text may be cut: paragraphs, sentences, words, matches of a pattern, or offsets of a function.

Sentences and words are Unicode's (UAX 29) as ICU finds them, with dictionaries for Thai, Chinese and Japanese. Both end
after every newline, whatever surrounds it. So a line is analyzed alone, and only if a cut in that line is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from crayon_hf.budgets import structure
from crayon_hf.budgets.finders import Finder, Fixed, InLines
from crayon_hf.errors import MissingExtraError
from crayon_hf.util.extras import needed
from crayon_hf.util.validation import kind

Boundary: TypeAlias = "str | re.Pattern[str] | Callable[[str], Iterable[int]]"
Boundaries: TypeAlias = "Boundary | Sequence[Boundary] | None"

_LINE_END = r"(?:\r\n|\r(?!\n)|[\n\u2029])"
_PARAGRAPHS = re.compile(rf"{_LINE_END}(?:[^\S\r\n\u2029]*{_LINE_END})+|\u2029")
"""The end of a line and the empty lines after it. The next paragraph begins at the end of the match."""
_PARAGRAPHS_OF_LF = re.compile(r"\n(?:[^\S\n]*\n)+")
"""`_PARAGRAPHS` for texts whose line ends are all "\\n": seven times faster, because each match begins with "\\n"."""
_LINES = re.compile(r"\n")

Level: TypeAlias = "Callable[[str], list[Finder]]"
"""A function that takes a text, and returns finders for one kind of boundaries in it, coarsest first."""

_KINDS = ("paragraph", "sentence", "word", "markdown", "json", "code:LANGUAGE")


def levels(boundaries: Boundaries) -> list[Level]:
    """Return the levels of boundaries, coarsest first. Each level makes the finders of one kind of boundaries.

    `boundaries` is one of these:

    - ``"paragraph"``, ``"sentence"`` or ``"word"``, each followed by the finer kinds;
    - ``"markdown"``, ``"json"`` or ``"code:python"`` (any language with a tree-sitter package);
    - a compiled pattern, which cuts after its matches;
    - a function of a text that returns offsets in characters;
    - a list of these, coarsest first, without implied finer kinds;
    - None for no boundaries.

    Raises:
        TypeError, ValueError: `boundaries` is something else.
        MissingExtraError: The package that finds these boundaries is not installed.
    """
    if boundaries is None:
        return []
    if isinstance(boundaries, str):
        return [_one(each) for each in _with_finer(boundaries)]
    if isinstance(boundaries, (list, tuple)):
        return [_one(each) for each in boundaries]
    return [_one(boundaries)]


def need_whole_texts(boundaries: Boundaries) -> bool:
    """Whether these boundaries can be found only in the whole text."""
    every = boundaries if isinstance(boundaries, (list, tuple)) else [boundaries]
    return any(isinstance(each, str) and each not in _OF_TEXTS for each in every)


def finders(text: str, boundaries: Boundaries) -> list[Finder]:
    """Finders of boundaries in a text, coarsest first: see `levels`.

    >>> [paragraphs] = finders("One.\\n\\nTwo.", ["paragraph"])
    >>> paragraphs.last(0, 8)
    6
    """
    return [finder for level in levels(boundaries) for finder in level(text)]


def _with_finer(name: str) -> list[str | re.Pattern[str]]:
    """Return a kind of boundaries, and the finer kinds to try if the text between two boundaries is too long."""
    if name in _OF_TEXTS:
        return list(_KINDS[_KINDS.index(name) : len(_OF_TEXTS)])
    return [name, "sentence", "word"] if name == "markdown" else [name, _LINES, "word"]


def _one(boundary: Any) -> Level:
    if isinstance(boundary, str):
        return _named(boundary)
    if hasattr(boundary, "finditer"):  # from re, or the package regex
        return lambda text: [Fixed(text, (match.end() for match in boundary.finditer(text)))]
    if callable(boundary):
        return lambda text: [Fixed(text, _said(boundary, text))]
    raise TypeError(f"boundaries is {kind(boundary)}, expected str, a compiled pattern or a function")


def _said(function: Callable[[str], Iterable[int]], text: str) -> Iterator[int]:
    places = function(text)
    if not isinstance(places, Iterable):
        raise TypeError(f"the function of boundaries returned {kind(places)}, expected a list of offsets")
    for place in places:
        if not hasattr(place, "__index__"):
            raise TypeError(f"the function of boundaries returned {kind(place)}, expected int offsets")
        if not 0 <= place <= len(text):
            raise ValueError(f"the function of boundaries returned {place}, expected 0 to {len(text)}")
        yield int(place)


def _named(name: str) -> Level:
    if name in _OF_TEXTS:
        return _OF_TEXTS[name]()
    kind_of, _, language = ("code:json" if name == "json" else name).partition(":")
    if name == "markdown":
        return structure.markdown()
    if kind_of == "code" and re.fullmatch(r"[A-Za-z0-9_-]+", language):
        return structure.code(language)
    raise ValueError(f"boundaries is {name!r}, expected one of {', '.join(_KINDS)}, a compiled pattern or a function")


def _paragraphs() -> Level:
    def found(text: str) -> list[Finder]:
        pattern = _PARAGRAPHS if "\r" in text or "\u2029" in text else _PARAGRAPHS_OF_LF
        return [Fixed(text, (match.end() for match in pattern.finditer(text)))]

    return found


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
        advice = "without it boundaries can be a pattern, a function or ['paragraph']"
        raise MissingExtraError(f"{error}; {advice}", name=error.name, path=error.path) from error
    return breakers


_OF_TEXTS: dict[str, Callable[[], Level]] = {"paragraph": _paragraphs, "sentence": _sentences, "word": _words}

"""Where a text may be cut: paragraphs, sentences, words, the matches of a pattern, or what a function says.

Sentences and words are those of Unicode (UAX 29) as ICU finds them; it knows the words of Thai, Chinese and Japanese.
Both end behind every newline, whatever stands around it. So a line is looked at by itself, and only when a cut is
looked for in it.
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
"""The end of a line and empty lines behind it: the next paragraph begins where this ends."""
_PARAGRAPHS_OF_LF = re.compile(r"\n(?:[^\S\n]*\n)+")
"""The same for texts without the other ends of lines, in a seventh of the time: all its matches begin alike."""
_LINES = re.compile(r"\n")

Level: TypeAlias = "Callable[[str], list[Finder]]"
"""Finders of one kind of boundaries in a text, the coarsest first."""

_KINDS = ("paragraph", "sentence", "word", "markdown", "json", "code:LANGUAGE")


def levels(boundaries: Boundaries) -> list[Level]:
    """What looks for boundaries, the coarsest first.

    `boundaries` is one of these:

    - ``"paragraph"``, ``"sentence"`` or ``"word"``, each with the finer ones behind it;
    - ``"markdown"``, ``"json"`` or ``"code:python"`` (any language that tree-sitter has a package of);
    - a compiled pattern, which cuts behind its matches;
    - a function of a text that gives offsets in characters;
    - a list of these, the coarsest first, each of which then stands for itself alone;
    - None for no boundaries.

    ValueError or TypeError for anything else; MissingExtraError where a package is missing that finds them.
    """
    if boundaries is None:
        return []
    if isinstance(boundaries, str):
        return [_one(each) for each in _with_finer(boundaries)]
    if isinstance(boundaries, (list, tuple)):
        return [_one(each) for each in boundaries]
    return [_one(boundaries)]


def need_whole_texts(boundaries: Boundaries) -> bool:
    """Whether these are found in a text as a whole alone."""
    every = boundaries if isinstance(boundaries, (list, tuple)) else [boundaries]
    return any(isinstance(each, str) and each not in _OF_TEXTS for each in every)


def finders(text: str, boundaries: Boundaries) -> list[Finder]:
    """Finders of boundaries in a text, the coarsest first: see `levels`.

    >>> [paragraphs] = finders("One.\\n\\nTwo.", ["paragraph"])
    >>> paragraphs.last(0, 8)
    6
    """
    return [finder for level in levels(boundaries) for finder in level(text)]


def _with_finer(name: str) -> list[str | re.Pattern[str]]:
    """A kind of boundaries, and what is tried where a text between two of them is too long."""
    if name in _OF_TEXTS:
        return list(_KINDS[_KINDS.index(name) : len(_OF_TEXTS)])
    return [name, "sentence", "word"] if name == "markdown" else [name, _LINES, "word"]


def _one(boundary: Any) -> Level:
    if isinstance(boundary, str):
        return _named(boundary)
    if hasattr(boundary, "finditer"):  # of re, or of the package regex
        return lambda text: [Fixed(text, (match.end() for match in boundary.finditer(text)))]
    if callable(boundary):
        return lambda text: [Fixed(text, _said(boundary, text))]
    raise TypeError(f"boundaries is {kind(boundary)}, expected str, a compiled pattern or a function")


def _said(function: Callable[[str], Iterable[int]], text: str) -> Iterator[int]:
    places = function(text)
    if not isinstance(places, Iterable):
        raise TypeError(f"the function of boundaries gave {kind(places)}, expected a list of offsets")
    for place in places:
        if not hasattr(place, "__index__"):
            raise TypeError(f"the function of boundaries gave {kind(place)}, expected offsets, which are int")
        if not 0 <= place <= len(text):
            raise ValueError(f"the function of boundaries gave {place}, expected 0 to {len(text)}")
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

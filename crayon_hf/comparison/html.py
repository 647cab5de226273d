"""Draws a comparison as one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crayon_hf.util.page.rendering import render
from crayon_hf.util.page.words import count
from crayon_hf.util.wording import plural

from .model import SCHEMA, Comparison, Figures, Group, Measured, amount, rate, script, share

__all__ = ["to_html"]

_MOST = 60
"""The most groups in a chart; the largest are shown."""
_FULL = 97
"""The length of the longest bar, in percent of its cell."""


Best = Callable[[list[float]], float]
"""A function that returns the value of a chart to highlight."""


def _speed(value: float | None) -> str:
    return rate(value, 1)


def _number(value: float | None) -> str:
    return count(int(value or 0))


_CHARTS: tuple[
    tuple[str, str, Callable[[Measured, Figures], float | None], Callable[[float | None], str], Best], ...
] = (
    ("Bytes per token", "longer is better", lambda _, of: of.bytes_per_token, rate, max),
    ("Characters per token", "longer is better", lambda _, of: of.characters_per_token, rate, max),
    ("Tokens per word", "shorter is better", lambda _, of: of.tokens_per_word, rate, min),
    ("Single bytes of a character", "share of tokens", lambda _, of: of.byte_token_share, share, min),
    ("Unknown tokens", "shorter is better", lambda _, of: of.unknown_tokens, _number, min),
    ("Vocabulary never used", "share of ids", lambda each, _: each.never_used_share, share, min),
    ("Speed", "MB/s", lambda each, _: each.megabytes_per_second, _speed, max),
    ("Speed by CPU time", "MB/s", lambda each, _: each.megabytes_per_processor_second, _speed, max),
)
"""The charts of all text: title, unit, value, format of the value, and best value."""


class Bar(NamedTuple):
    """The bar of one tokenizer."""

    name: str
    length: float
    """Percent of its cell."""
    is_best: bool
    said: str
    more: str


class Rows(NamedTuple):
    """The bars of one group of text."""

    name: str
    about: str
    bars: list[Bar]


def to_html(comparison: Comparison, command: str = "") -> str:
    """Draw a comparison as one HTML page, which needs no network.

    Args:
        comparison: The result of `compare`.
        command: A command line to show, which makes the page again. Default: none is shown.

    Returns:
        The page. Names of files and tokenizers are escaped.

    Raises:
        MissingExtraError: jinja2 is not installed.

    docs/compare.md has an example.
    """
    names = [each.name for each in comparison.tokenizers]
    measured = [(each, comparison.total.figures[each.name]) for each in comparison.tokenizers]
    charts = [
        _chart(title, unit, names, [of(*each) for each in measured], said, best)
        for title, unit, of, said, best in _CHARTS
    ]
    groupings = (
        ("kinds", "By kind of text", "Inferred from the name of each file.", comparison.kinds, str),
        (
            "scripts",
            "By script",
            "Spaces, digits and punctuation count with the letter before them.",
            comparison.scripts,
            script,
        ),
        ("files", "By file", "", comparison.files, str),
    )
    sections = [
        (id, title, note + _more(groups), _grouped(groups, names, named))
        for id, title, note, groups, named in groupings
    ]
    links = [("all", "All text"), *((id, title) for id, title, *_ in sections)]
    return render(
        __package__,
        "page.html",
        title="Comparison of vocabularies",
        kind="comparison",
        links=[*links, ("repeat", "Repeat")] if command else links,
        comparison=comparison,
        amount=amount(comparison.total, len(comparison.files)),
        charts=[chart for chart in charts if chart is not None],
        sections=sections,
        command=command,
        schema=SCHEMA,
    )


def _more(groups: Sequence[Group]) -> str:
    return f" The {count(_MOST)} largest of {count(len(groups))}." if len(groups) > _MOST else ""


def _chart(
    title: str, unit: str, names: list[str], values: list[float | None], said: Callable[[float | None], str], best: Best
) -> tuple[str, str, Rows] | None:
    """Return a chart of all text, or None if no value is above 0."""
    if not any(values):
        return None
    return title, unit, Rows("", "", _bars(names, values, said, [""] * len(names), best, _top(values)))


def _grouped(groups: Sequence[Group], names: list[str], named: Callable[[str], str]) -> list[Rows]:
    """Return the bytes per token of each group, the largest groups first."""
    shown = sorted((group for group in groups if group.bytes), key=lambda group: -group.bytes)[:_MOST]
    top = _top([group.figures[name].bytes_per_token for group in shown for name in names])
    return [
        Rows(
            named(group.name),
            f"{plural(group.bytes, 'byte')}, {plural(group.words, 'word')}",
            _bars(
                names,
                [group.figures[name].bytes_per_token for name in names],
                rate,
                [_tokens(group.figures[name]) for name in names],
                max,
                top,
            ),
        )
        for group in shown
    ]


def _tokens(figures: Figures) -> str:
    return f"{count(figures.tokens)} tokens"


def _top(values: Sequence[float | None]) -> float:
    return max((value for value in values if value is not None), default=0)


def _bars(
    names: list[str],
    values: Sequence[float | None],
    said: Callable[[float | None], str],
    more: list[str],
    best: Best,
    top: float,
) -> list[Bar]:
    known = [value for value in values if value is not None]
    winner = best(known) if known else None
    return [
        Bar(name, _FULL * (value or 0) / top if top else 0, value is not None and value == winner, said(value), note)
        for name, value, note in zip(names, values, more, strict=True)
    ]

"""A report as one self-contained HTML page with a light and a dark theme, without requests or foreign scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from crayon_hf.util.page.rendering import BREAKS, render
from crayon_hf.util.page.words import count, visible
from crayon_hf.util.wording import plural

from . import wording
from .alignment import align
from .model import Category, DifferenceShown, Report, Speed
from .wording import verdict

__all__ = ["to_html"]

_FULL = 97.0
"""The share of a bar's width, in per cent, at which the greatest measurement is drawn. The rest is for its tick."""


def to_html(report: Report) -> str:
    """Return the page, which ends with a newline. Equal reports give equal pages. Needs jinja2 (MissingExtraError).

    All text from the report is escaped. Invisible characters, characters that change the direction of text, and lone
    surrogates are spelled out. The page makes no requests: styles and script are inline and named by digest in its
    Content-Security-Policy.
    """
    said, categories = verdict(report), sorted(report.by_category(), key=lambda each: not each.differing)
    links = {
        "Differences": bool(report.differing or report.differences),
        "Categories": bool(categories),
        "Suites": True,
        "Speed": bool(report.speeds),
        "Repeat": True,
        "Meaning": True,
    }
    return render(
        __package__,
        "page.html",
        title=f"{report.target.name}: {said.headline.lower()} \u00b7 parity report",
        kind="parity report",
        links=[(name.lower(), name) for name, is_there in links.items() if is_there],
        report=report,
        wording=wording,
        visible=visible,
        said=said,
        categories=categories,
        categories_note=_note(report, categories),
        is_spelled=visible(report.command, keep=BREAKS) != report.command,
        align=align,
        found_otherwise=_found_otherwise,
        median=median,
        greatest=_greatest,
        drawable=_drawable,
        at=lambda number, top: f"{_FULL * number / top if top else 0:.2f}",
    )


def _note(report: Report, categories: Sequence[Category]) -> str:
    agreeing = sum(not each.differing for each in categories if each.inputs)
    number = plural(len(categories), "category", "categories")
    if agreeing == len(categories) > 1:
        note = f"All {number} agree."
    else:
        note = f"{count(agreeing)} of {number} {'agrees' if agreeing == 1 else 'agree'}."
    if uncovered := sum(suite.inputs for suite in report.suites if not suite.categories):
        note += f" Another {plural(uncovered, 'input')} from texts are in the table of suites."
    return note


def _found_otherwise(each: DifferenceShown) -> list[str]:
    """Return the texts of the input as it was found, except texts that minimising did not change."""
    both = zip(each.found, [*each.smallest, *each.found], strict=False)
    return [found for found, small in both if found != small]


def _greatest(speeds: Sequence[Speed]) -> float:
    return max(_drawable(each for speed in speeds for each in (*speed.ours, *speed.reference)), default=0.0)


def _drawable(numbers: Iterable[float]) -> list[float]:
    return [each for each in numbers if math.isfinite(each) and each >= 0]

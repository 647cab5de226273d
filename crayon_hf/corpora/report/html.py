"""The report of a corpus as one HTML page, in the frame of all our pages."""

from __future__ import annotations

from crayon_hf.util.page.rendering import render
from crayon_hf.util.page.words import count

from .model import SCHEMA, CorpusReport, share, span, spread

__all__ = ["to_html"]

_SCRIPTS, _TOKENS = 30, 50


def to_html(report: CorpusReport) -> str:
    """Render a report as one HTML page that loads nothing from the network. Texts of the corpus are escaped.

    Equal reports give equal pages. docs/corpora.md has an example.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    left_out = [(said, count(number)) for said, number in report.left_out()]
    sections = (
        ("lengths", "Lengths", report.lengths), ("scripts", "Scripts", report.scripts),
        ("tokens", "Tokens", report.frequent), ("unused", "Never used", True), ("left-out", "Left out", left_out),
        ("repeat", "Repeat", True),
    )  # fmt: skip
    # Rows of tables with bars: label, length of the bar, its text, and a second number or "".
    bins = () if report.lengths is None else report.lengths.histogram
    frequent = report.frequent[:_TOKENS]
    return render(
        __package__,
        "page.html",
        title=f"{report.directory} \u00b7 corpus report",
        kind="corpus report",
        links=[(id, name) for id, name, is_there in sections if is_there],
        report=report,
        schema=SCHEMA,
        lengths=[(span(each), each.count, count(each.count), "") for each in bins],
        scripts=[(*row, "") for row in report.script_rows(_SCRIPTS)],
        tokens=[(each, each.count, count(each.count), share(each.count, report.tokens)) for each in frequent],
        left_out=left_out,
        share=share,
        spread=spread,
    )

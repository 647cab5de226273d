"""The report of a corpus as one HTML page, in the frame of all our pages."""

from __future__ import annotations

from typing import Any

from crayon_hf.util.page.rendering import render
from crayon_hf.util.page.words import count, large
from crayon_hf.util.wording import plural

from .model import LEFT_OUT, SCHEMA, CorpusReport, script, share, span, spread

__all__ = ["to_html"]

_SCRIPTS, _TOKENS = 30, 50

Bar = tuple[Any, int, str, str]
"""What it is of, its length, what is said of it, and a second number or nothing."""


def to_html(report: CorpusReport) -> str:
    """A report as one page that needs no network. The same report gives the same page; text of the corpus is escaped.

    docs/corpora.md has an example. MissingExtraError without jinja2.
    """
    left_out = [(said, count(number)) for name, said in LEFT_OUT.items() if (number := report.counts.get(name, 0))]
    if report.sequences is not None and report.sequences["dropped"]:
        left_out.append(("tokens in no sequence", count(report.sequences["dropped"])))
    links = {
        "lengths": ("Lengths", report.lengths is not None),
        "scripts": ("Scripts", bool(report.scripts)),
        "tokens": ("Tokens", bool(report.frequent)),
        "unused": ("Never used", True),
        "left-out": ("Left out", bool(left_out)),
        "repeat": ("Repeat", True),
    }
    return render(
        __package__,
        "page.html",
        title=f"{report.directory} \u00b7 corpus report",
        kind="corpus report",
        links=[(id, name) for id, (name, is_there) in links.items() if is_there],
        report=report,
        schema=SCHEMA,
        sides=_sides(report),
        figures=_figures(report),
        lengths=[] if report.lengths is None else _lengths(report),
        scripts=_scripts(report.scripts or {}),
        tokens=[
            (each, each.count, count(each.count), share(each.count, report.tokens))
            for each in report.frequent[:_TOKENS]
        ],
        left_out=left_out,
        share=share,
        spread=spread,
    )


def _sides(report: CorpusReport) -> list[tuple[str, str, str]]:
    text, read = (report.counts[name] / 1e6 for name in ("text_bytes", "input_bytes"))
    shards = f"{plural(report.shards, 'shard')}, {report.output_bytes / 1e6:,.1f} MB"
    return [
        ("Tokenizer", report.tokenizer or "a tokenizer without a name", plural(report.vocabulary, "id")),
        ("Format", report.format, shards),
        ("Text", f"{text:,.1f} MB", f"of {read:,.1f} MB read"),
    ]


def _figures(report: CorpusReport) -> list[tuple[str, str, str]]:
    ratio = report.bytes_per_token
    figures = [
        ("documents", large(report.counts["documents"]), count(report.counts["documents"])),
        ("tokens", large(report.counts["tokens"]), count(report.counts["tokens"])),
        ("bytes per token", "\u2013" if ratio is None else f"{ratio:.3f}", "of the documents' text"),
        ("ids never used", large(len(report.never_used)), f"of {count(report.vocabulary)}"),
    ]
    if (of := report.sequences) is not None:
        note = f"of {count(of['sequence_length'])} tokens, {share(of['padding'], of['tokens'])} padding"
        figures.append(("sequences", large(of["sequences"]), note))
    if report.held_out is not None:
        figures.append(("documents held out", large(report.held_out["documents"]), "in held-out/"))
    return figures


def _lengths(report: CorpusReport) -> list[Bar]:
    assert report.lengths is not None
    return [(span(each), each.count, count(each.count), "") for each in report.lengths.histogram]


def _scripts(scripts: dict[str, int]) -> list[Bar]:
    total, named = sum(scripts.values()), list(scripts.items())
    rows: list[Bar] = [(script(name), number, share(number, total), "") for name, number in named[:_SCRIPTS]]
    if rest := sum(number for _, number in named[_SCRIPTS:]):
        rows.append((plural(len(named) - _SCRIPTS, "other script"), rest, share(rest, total), ""))
    return rows

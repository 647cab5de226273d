"""The report as Markdown, for a document that has two marks around it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from crayon_hf.cli.colour import padded
from crayon_hf.display.cells import width_of
from crayon_hf.parity.speed.figures import Cell, Figure, Report, Standing
from crayon_hf.parity.speed.inputs import PROSE
from crayon_hf.util.markdown import table

from .targets import HOSTILE_PROSE, MEMORY_MB, RATIOS
from .verdicts import OURS, Verdict, cell_name, is_exact, memory_shortfalls, reason_for, verdicts

__all__ = ["BEGIN", "END", "plain", "put_between_marks", "rounded", "to_markdown"]

BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"

Judged = dict[str, dict[Cell, Verdict]]
"""By vocabulary."""


def rounded(value: float) -> str:
    """Three digits or so."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def to_markdown(
    machine: Sequence[str],
    reports: Sequence[Report],
    settings: str,
    reasons: Sequence[dict[str, Any]],
    with_targets: bool = True,
) -> str:
    """All tables; `with_targets` judges the cells by what this project promises."""
    judged = {report.vocabulary: {verdict.cell: verdict for verdict in verdicts(report)} for report in reports}
    cells = list(dict.fromkeys(cell for of_one in judged.values() for cell in of_one))
    order = list(dict.fromkeys([*RATIOS, *(cell[0] for cell in cells)]))
    cells.sort(key=lambda cell: (order.index(cell[0]), cell[2]))
    parts = ["\n".join([*machine, *([f"- {settings}"] if settings else [])])]
    if cells:
        parts += [_ratios(cells, judged, with_targets), _speeds(cells, judged)]
    parts += [_hostile(judged, with_targets), _memory(reports, with_targets)]
    parts += [_short(reports, judged, reasons)] if with_targets else []
    parts += [_ids(reports), *map(_details, reports), _calls(reports)]
    return "\n\n".join(filter(None, parts)).strip() + "\n"


def plain(markdown: str) -> str:
    """The tables for a terminal: columns of one width, numbers to the right."""
    lines: list[str] = []
    for is_table, group in groupby(markdown.replace("**", "").splitlines(), key=lambda line: line.startswith("|")):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in group if not line.startswith("|---")]
        if not is_table:
            lines += [row[0].removeprefix("### ") if len(row) == 1 else "|".join(row) for row in rows]
            continue
        widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
        for first, *rest in rows:
            others = (padded(cell, width, right=True) for cell, width in zip(rest, widths[1:], strict=True))
            lines.append("  ".join([padded(first, widths[0]), *others]).rstrip())
    return "\n".join(lines) + "\n"


def _section(title: str, note: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return f"### {title}\n\n{note}\n\n{table(heads, rows, numbers=len(heads) - 1)}"


def _by_vocabulary(
    title: str,
    note: str,
    head: str,
    cells: Iterable[Cell],
    judged: Judged,
    name: Callable[[Cell], str],
    said: Callable[[Verdict], str],
) -> str:
    """A row for each cell, a column for each vocabulary; empty where there is no figure of ours."""
    rows = (
        [name(cell), *(said(of_one[cell]) if cell in of_one else "" for of_one in judged.values())] for cell in cells
    )
    return _section(title, note, [head, *judged], rows)


def _ratios(cells: Sequence[Cell], judged: Judged, with_targets: bool) -> str:
    note = (
        "Our speed as a multiple of that of the best peer that gives the reference's ids, and which that is; in\n"
        f"brackets a peer with other ids that is faster{'. **Bold**: short of the target.' if with_targets else '.'}"
    )

    def name(cell: Cell) -> str:
        target = RATIOS.get(cell[0]) if with_targets else None
        return cell_name(cell) + (f" ({target:g})" if target else "")

    def said(verdict: Verdict) -> str:
        text = "no peer"
        if verdict.ratio is not None and verdict.best is not None:
            text = f"{rounded(verdict.ratio)} {verdict.best.engine}"
            text = f"**{text}**" if verdict.short and with_targets else text
        if verdict.other is not None and verdict.other_ratio is not None:
            text += f" ({rounded(verdict.other_ratio)} {verdict.other.engine})"
        return text

    return _by_vocabulary("Ratios", note, "cell (target)" if with_targets else "cell", cells, judged, name, said)


def _speeds(cells: Sequence[Cell], judged: Judged) -> str:
    note = (
        "MB/s by the clock (in brackets MB for each second of the processor, all threads together), or the unit named."
    )

    def said(verdict: Verdict) -> str:
        figure = verdict.ours
        if figure.note and not figure.rounds:
            return figure.note
        if figure.unit != "MB/s":
            return f"{rounded(figure.median)} {figure.unit}"
        return f"{rounded(figure.median)} ({rounded(sorted(figure.cpu)[len(figure.cpu) // 2])})"

    return _by_vocabulary("Our figures", note, "cell", cells, judged, cell_name, said)


def _hostile(judged: Judged, with_targets: bool) -> str:
    cells = list(dict.fromkeys(cell for one in judged.values() for cell in one if cell[0] == "hostile"))
    if not cells:
        return ""
    promise = f"; the promise is {HOSTILE_PROSE:g}." if with_targets else "."

    def said(verdict: Verdict) -> str:
        return "" if verdict.prose is None else f"{verdict.prose:.1f}"

    note = f"Our time for a byte, as a multiple of that of prose in the same process{promise}"
    return _by_vocabulary("Hostile text", note, "one pretoken of 1 MB", cells, judged, lambda cell: cell[1], said)


def _memory(reports: Sequence[Report], with_targets: bool) -> str:
    if not any(report.memory for report in reports):
        return ""
    promise = f" Ours is promised to have at most {MEMORY_MB:g} MB there." if with_targets else ""
    note = (
        "MB of one process with one thread, less what it had before the vocabulary was opened (Python, NumPy, the\n"
        "engine). *Dirty* is what no other process can share. *New words* is the dirty memory after so many MB of\n"
        "words that are all new (a peer gets half a second). A *second process*, while the first one is open: what\n"
        f"only it has after a megabyte.{promise}"
    )
    rows = []
    for report in reports:
        for engine, trial in report.memory.items():
            after = [trial.after[0], trial.after[-1]] if len(trial.after) > 1 else trial.after
            opened, extra = trial.opened, trial.extra
            rows.append(
                [
                    f"{report.vocabulary}, {engine}",
                    f"{trial.after[-1]['resident']:.0f}" if trial.after else "",
                    f"{opened['resident_grown']:.1f}" if opened else "",
                    f"{opened['dirty_grown']:.1f}" if opened else "",
                    "; ".join(f"{each['dirty_grown']:.1f} ({each['bytes'] / 1e6:.0f} MB)" for each in after),
                    f"{extra['private_grown']:.1f}" if extra else "",
                ]
            )
    heads = ["", "whole process", "open: resident", "open: dirty", "new words", "second process"]
    return _section("Memory", note, heads, rows)


def _short(reports: Sequence[Report], judged: Judged, reasons: Sequence[dict[str, Any]]) -> str:
    by_reason: dict[str, list[str]] = {}
    for verdict in (verdict for of_one in judged.values() for verdict in of_one.values() if verdict.short):
        figure = f"{rounded(verdict.ratio)} of {verdict.target:g}" if verdict.ratio is not None else ""
        if verdict.prose is not None and verdict.prose > HOSTILE_PROSE:
            figure += f", {verdict.prose:.1f} times prose"
        cell = f"  - {verdict.vocabulary}: {verdict.name} ({figure})"
        by_reason.setdefault(reason_for(verdict, reasons), []).append(cell)
    memory = [f"- {report.vocabulary}: memory: {each}" for report in reports for each in memory_shortfalls(report)]
    if not any(judged.values()):
        return ""
    count = sum(map(len, by_reason.values())) + len(memory)
    total = sum(verdict.target is not None for of_one in judged.values() for verdict in of_one.values())
    lines = [line for reason, cells in by_reason.items() for line in (f"- {reason}", *cells)]
    said = f"{count} of {total} cells with a target." if count else "No cell."
    return "\n".join(["### What falls short", "", said, "", *lines, *memory])


def _ids(reports: Sequence[Report]) -> str:
    note = (
        "Compared before anything was timed, document by document, on every text above (100,000 of the lines); of a\n"
        "job by a digest of all that it made, in every round."
    )
    names = dict.fromkeys(name for report in reports for name in report.standings)
    rows = ([name, *(_standing(report, report.standings.get(name)) for report in reports)] for name in names)
    ids = _section("Whose ids are the reference's", note, ["engine", *(report.vocabulary for report in reports)], rows)
    references = "References: " + ", ".join(f"{report.vocabulary} {report.reference}" for report in reports) + "."
    said = [(report.vocabulary, note) for report in reports for note in report.notes]
    missing = dict.fromkeys(f"- {note}" for _, note in said if "not installed" in note)
    notes = [*missing, *(f"- {name}: {note}" for name, note in said if "not installed" not in note)]
    return "\n\n".join(filter(None, [ids, references, "\n".join(notes)]))


def _standing(report: Report, standing: Standing | None) -> str:
    if standing is None:
        return ""
    if standing.cannot_open:
        return "not installed" if standing.missing else "cannot open it"
    said = []
    if standing.differing:
        total = sum(report.texts[name]["documents"] for name in report.texts)
        wrong = sum(count for name, count in standing.differing.items() if name in report.texts)
        said += [f"{wrong:,} of {total:,} documents differ"] if wrong else []
        if "decode" in standing.differing:
            said.append(f"{standing.differing['decode']:,} decoded differ")
    if standing.failed:
        without = [name for name in report.texts if name in standing.failed]
        said.append("no ids" if len(without) == len(report.texts) else f"no ids: {', '.join(standing.failed)}")
    return "; ".join(said) or "the same"


def _details(report: Report) -> str:
    """Every engine in every cell."""
    cells = report.cells()
    if not cells:
        return ""
    note = (
        "Medians, and half of the range of their middle half; \u2260: other ids than the reference's. Empty:\n"
        "the engine had under a quarter of the speed of the best peer with one thread, and was left out with more."
    )
    engines = list(dict.fromkeys(figure.engine for figure in report.figures))
    rows = (
        [cell_name(cell), *(_detail(report, cell, figures.get(name)) for name in engines)]
        for cell, figures in cells.items()
    )
    return _section(report.vocabulary, note, ["cell", *engines], rows)


def _detail(report: Report, cell: Cell, figure: Figure | None) -> str:
    if figure is None:
        return ""
    mark = "" if cell[1] == PROSE or is_exact(report.standings[figure.engine], cell) else " \u2260"
    if not figure.rounds:
        return figure.note + mark
    unit = "" if figure.unit == "MB/s" else f" {figure.unit}"
    spread = f" \u00b1{figure.spread * 100:.0f}%" if len(figure.rounds) > 1 else ""
    return f"{rounded(figure.median)}{unit}{spread}{mark}"


def _calls(reports: Sequence[Report]) -> str:
    found = dict.fromkeys(
        (figure.engine, figure.call, figure.gives)
        for report in reports
        for figure in report.figures
        if figure.gives and figure.scenario not in ("open", "short")
    )
    if not found:
        return ""
    lines = [f"- {engine} `{call}`: {gives}" for engine, call, gives in sorted(found)]
    short = f"- one short string: `encode` of each engine, to ids; {OURS}, tokenizers: `encode(text).ids`"
    return "\n".join(["### What each call gives", "", *lines, short])


def put_between_marks(path: str | os.PathLike[str], tables: str, first: str = BEGIN, last: str = END) -> None:
    """Replace what a document holds between the two marks; a new document holds the tables alone."""
    if not Path(path).exists():
        Path(path).write_text(f"{first}\n{tables}{last}\n", encoding="utf-8")
        return
    document = Path(path).read_text(encoding="utf-8")
    before, begin, rest = document.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{path} has no {first} and {last}")
    Path(path).write_text(f"{before}{first}\n{tables}{last}{after}", encoding="utf-8")

"""The report as Markdown, for a document that has two marks around it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crayon_hf.parity.speed.figures import Cell, Figure, Report, Standing
from crayon_hf.parity.speed.inputs import PROSE

from .targets import HOSTILE_PROSE, MEMORY_MB, RATIOS
from .verdicts import OURS, Verdict, cell_name, is_exact, memory_shortfalls, reason_for, verdicts

__all__ = ["BEGIN", "END", "put_between_marks", "rounded", "to_markdown"]

BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"


def rounded(value: float) -> str:
    """Three digits or so."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(first: str, rest: Sequence[str]) -> list[str]:
    return [_row([first, *rest]), f"|---|{'---:|' * len(rest)}"]


def to_markdown(
    machine: Sequence[str], reports: Sequence[Report], settings: str, reasons: Sequence[dict[str, Any]]
) -> str:
    """All tables."""
    judged = {report.vocabulary: {verdict.cell: verdict for verdict in verdicts(report)} for report in reports}
    cells = list(dict.fromkeys(cell for of_one in judged.values() for cell in of_one))
    order = list(dict.fromkeys([*RATIOS, *(cell[0] for cell in cells)]))
    cells.sort(key=lambda cell: (order.index(cell[0]), cell[2]))
    lines = [*machine, *([f"- {settings}"] if settings else []), ""]
    if cells:
        lines += [*_ratios(reports, cells, judged), "", *_speeds(reports, cells, judged), ""]
    lines += _hostile(reports, judged)
    lines += _memory(reports)
    lines += _short(reports, judged, reasons)
    lines += [*_ids(reports), ""]
    for report in reports:
        lines += _details(report)
    lines += _calls(reports)
    return "\n".join(lines).rstrip() + "\n"


def _ratios(reports: Sequence[Report], cells: Sequence[Cell], judged: dict[str, dict[Cell, Verdict]]) -> list[str]:
    lines = [
        "### Ratios",
        "",
        "Our speed as a multiple of that of the best peer that gives the reference's ids, and which that is; in",
        "brackets a peer with other ids that is faster. **Bold**: short of the target.",
        "",
        *_head("cell (target)", [report.vocabulary for report in reports]),
    ]
    for cell in cells:
        target = RATIOS.get(cell[0])
        title = cell_name(cell) + (f" ({target:g})" if target else "")
        lines.append(_row([title, *(_ratio(judged[report.vocabulary].get(cell)) for report in reports)]))
    return lines


def _ratio(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    if verdict.ratio is None or verdict.best is None:
        text = "no peer"
    else:
        text = f"{rounded(verdict.ratio)} {verdict.best.engine}"
        text = f"**{text}**" if verdict.short else text
    if verdict.other is not None and verdict.other_ratio is not None:
        text += f" ({rounded(verdict.other_ratio)} {verdict.other.engine})"
    return text


def _speeds(reports: Sequence[Report], cells: Sequence[Cell], judged: dict[str, dict[Cell, Verdict]]) -> list[str]:
    lines = [
        "### Our figures",
        "",
        "MB/s by the clock (in brackets MB for each second of the processor, all threads together), or the unit named.",
        "",
        *_head("cell", [report.vocabulary for report in reports]),
    ]
    for cell in cells:
        found = [judged[report.vocabulary].get(cell) for report in reports]
        lines.append(_row([cell_name(cell), *(_speed(each.ours) if each else "" for each in found)]))
    return lines


def _speed(figure: Figure) -> str:
    if figure.note and not figure.rounds:
        return figure.note
    if figure.unit != "MB/s":
        return f"{rounded(figure.median)} {figure.unit}"
    cpu = sorted(figure.cpu)[len(figure.cpu) // 2]
    return f"{rounded(figure.median)} ({rounded(cpu)})"


def _hostile(reports: Sequence[Report], judged: dict[str, dict[Cell, Verdict]]) -> list[str]:
    cells = list(dict.fromkeys(cell for one in judged.values() for cell in one if cell[0] == "hostile"))
    if not cells:
        return []
    lines = [
        "### Hostile text",
        "",
        f"Our time for a byte, as a multiple of that of prose in the same process; the promise is {HOSTILE_PROSE:g}.",
        "",
        *_head("one pretoken of 1 MB", [report.vocabulary for report in reports]),
    ]
    for cell in cells:
        found = [judged[report.vocabulary].get(cell) for report in reports]
        texts = [f"{each.prose:.1f}" if each and each.prose is not None else "" for each in found]
        lines.append(_row([cell[1], *texts]))
    return [*lines, ""]


def _memory(reports: Sequence[Report]) -> list[str]:
    if not any(report.memory for report in reports):
        return []
    lines = [
        "### Memory",
        "",
        "MB of one process with one thread, less what it had before the vocabulary was opened (Python, NumPy, the",
        "engine). *Dirty* is what no other process can share. *New words* is the dirty memory after so many MB of",
        "words that are all new (a peer gets half a second). A *second process*, while the first one is open: what",
        f"only it has after a megabyte. Ours is promised to have at most {MEMORY_MB:g} MB there.",
        "",
        *_head("", ["whole process", "open: resident", "open: dirty", "new words", "second process"]),
    ]
    for report in reports:
        for engine, trial in report.memory.items():
            after = [trial.after[0], trial.after[-1]] if len(trial.after) > 1 else trial.after
            grown = "; ".join(f"{each['dirty_grown']:.1f} ({each['bytes'] / 1e6:.0f} MB)" for each in after)
            opened, extra = trial.opened, trial.extra
            lines.append(
                _row(
                    [
                        f"{report.vocabulary}, {engine}",
                        f"{trial.after[-1]['resident']:.0f}" if trial.after else "",
                        f"{opened['resident_grown']:.1f}" if opened else "",
                        f"{opened['dirty_grown']:.1f}" if opened else "",
                        grown,
                        f"{extra['private_grown']:.1f}" if extra else "",
                    ]
                )
            )
    return [*lines, ""]


def _short(
    reports: Sequence[Report], judged: dict[str, dict[Cell, Verdict]], reasons: Sequence[dict[str, Any]]
) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for of_one in judged.values():
        for verdict in of_one.values():
            if verdict.short:
                figure = f"{rounded(verdict.ratio)} of {verdict.target:g}" if verdict.ratio is not None else ""
                if verdict.prose is not None and verdict.prose > HOSTILE_PROSE:
                    figure += f", {verdict.prose:.1f} times prose"
                by_reason.setdefault(reason_for(verdict, reasons), []).append(
                    f"{verdict.vocabulary}: {verdict.name} ({figure})"
                )
    memory = [f"- {report.vocabulary}: memory: {each}" for report in reports for each in memory_shortfalls(report)]
    if not judged or not any(judged.values()):
        return []
    count = sum(len(short) for short in by_reason.values()) + len(memory)
    total = sum(1 for of_one in judged.values() for verdict in of_one.values() if verdict.target is not None)
    lines = ["### What falls short", "", f"{count} of {total} cells with a target." if count else "No cell.", ""]
    for reason, cells in by_reason.items():
        lines.append(f"- {reason}")
        lines += [f"  - {cell}" for cell in cells]
    lines += memory
    return [*lines, ""] if count else lines


def _ids(reports: Sequence[Report]) -> list[str]:
    names = list(dict.fromkeys(name for report in reports for name in report.standings))
    lines = [
        "### Whose ids are the reference's",
        "",
        "Compared before anything was timed, document by document, on every text above (100,000 of the lines); of a",
        "job by a digest of all that it made, in every round.",
        "",
        *_head("engine", [f"{report.vocabulary}" for report in reports]),
    ]
    for name in names:
        lines.append(_row([name, *(_standing(report, report.standings.get(name)) for report in reports)]))
    lines += ["", "References: " + ", ".join(f"{report.vocabulary} {report.reference}" for report in reports) + "."]
    notes = [
        f"- {report.vocabulary}: {note}" for report in reports for note in report.notes if "not installed" not in note
    ]
    missing = dict.fromkeys(note for report in reports for note in report.notes if "not installed" in note)
    return [*lines, "", *(f"- {note}" for note in missing), *notes]


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


def _details(report: Report) -> list[str]:
    """Every engine in every cell."""
    cells = report.cells()
    if not cells:
        return []
    engines = list(dict.fromkeys(figure.engine for figure in report.figures))
    lines = [
        f"### {report.vocabulary}",
        "",
        "Medians, and half of the range of their middle half; \u2260: other ids than the reference's. Empty:",
        "the engine had under a quarter of the speed of the best peer with one thread, and was left out with more.",
        "",
        *_head("cell", engines),
    ]
    for cell, figures in cells.items():
        lines.append(_row([cell_name(cell), *(_detail(report, cell, figures.get(name)) for name in engines)]))
    return [*lines, ""]


def _detail(report: Report, cell: Cell, figure: Figure | None) -> str:
    if figure is None:
        return ""
    mark = "" if cell[1] == PROSE or is_exact(report.standings[figure.engine], cell) else " \u2260"
    if not figure.rounds:
        return figure.note + mark
    unit = "" if figure.unit == "MB/s" else f" {figure.unit}"
    spread = f" \u00b1{figure.spread * 100:.0f}%" if len(figure.rounds) > 1 else ""
    return f"{rounded(figure.median)}{unit}{spread}{mark}"


def _calls(reports: Sequence[Report]) -> list[str]:
    found = dict.fromkeys(
        (figure.engine, figure.call, figure.gives)
        for report in reports
        for figure in report.figures
        if figure.gives and figure.scenario not in ("open", "short")
    )
    lines = [f"- {engine} `{call}`: {gives}" for engine, call, gives in sorted(found)]
    short = f"- one short string: `encode` of each engine, to ids; {OURS}, tokenizers: `encode(text).ids`"
    return ["### What each call gives", "", *lines, short, ""] if lines else []


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

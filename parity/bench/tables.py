"""The report as Markdown, to be put between two marks of a document, and as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from crayon_hf.cli.colour import padded
from crayon_hf.display.cells import width_of
from crayon_hf.parity.speed.figures import OURS, Cell, Figure, Report, Standing, ratio
from crayon_hf.parity.speed.inputs import PROSE
from crayon_hf.util.markdown import table

from .jobs import JOBS

__all__ = ["plain", "rounded", "to_markdown"]

TITLES = {
    "first": "first pass, ",
    "first-large": "first pass, ",
    "scale": "first pass, ",
    "repeated": "steady state, ",
    "scale, steady": "steady state, ",
    "lists": "first pass as lists, ",
    "open": "open, ",
    "short": "short, ",
    "decode": "decode, ",
    "new-words": "",
    "long-document": "",
    "lines": "",
    "hostile": "",
}
ALSO_OURS = ("tokenize", "no_cartridge", "no_cache")
WITHOUT_TEXT = ("open", "short", "decode")


def rounded(value: float) -> str:
    """Return a value as text, with about three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell_name(cell: Cell) -> str:
    """Return a cell's name for readers. A cell is a scenario, a text and a number of threads."""
    scenario, text, threads = cell
    title = TITLES.get(scenario, f"{scenario.removeprefix('scale, ')}, ")
    where = "" if scenario in WITHOUT_TEXT else f"{text}, "
    return f"{title}{where}{threads} thread{'s'[: threads != 1]}"


def is_exact(standing: Standing, cell: Cell) -> bool:
    """Whether an engine's result in a cell equals the reference's."""
    scenario, text, _ = cell
    if scenario == "open":
        return not standing.cannot_open and not standing.differing
    if scenario == "decode":
        return standing.exact("decode")
    return standing.exact(f"{text}, as lists" if scenario == "lists" else text)


def best_peers(report: Report, cell: Cell) -> tuple[str, str]:
    """Return the fastest peer with the same ids, and a faster peer with other ids, or "" for a missing one.

    Each text has our speedup over the peer by wall-clock time, in brackets by processor time, and the peer's name.
    """
    found = report.cells()[cell].items()
    figures = {name: figure for name, figure in found if figure.rounds and name not in ALSO_OURS}
    ours = figures.pop(OURS, None)
    if ours is None:
        return "", ""
    ratios = sorted((ratio(ours.rounds, figure.rounds, figure.unit), name) for name, figure in figures.items())
    best = next((each for each in ratios if is_exact(report.standings[each[1]], cell)), None)

    def said(by_clock: float, name: str) -> str:
        peer, by_processor = figures[name], ""
        if ours.cpu and peer.cpu:
            by_processor = f" ({rounded(ratio(ours.cpu, peer.cpu, peer.unit))})"
        return f"{rounded(by_clock)}{by_processor} {name}"

    return said(*best) if best else "", said(*ratios[0]) if ratios and ratios[0] != best else ""


def to_markdown(machine: Sequence[str], reports: Sequence[Report], settings: str) -> str:
    """All tables, as Markdown."""
    parts = ["\n".join([*machine, *([f"- {settings}"] if settings else [])])]
    parts += [_ratios(reports), _hostile(reports), _memory(reports), _ids(reports)]
    parts += [*map(_details, reports), _calls(reports)]
    return "\n\n".join(filter(None, parts)).strip() + "\n"


def plain(markdown: str) -> str:
    """The tables for a terminal: columns of fixed width, numbers aligned to the right."""
    lines: list[str] = []
    for is_table, group in groupby(markdown.splitlines(), key=lambda line: line.startswith("|")):
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
    found = list(rows)
    return f"### {title}\n\n{note}\n\n{table(heads, found, numbers=len(heads) - 1)}" if found else ""


def _cells(reports: Sequence[Report]) -> list[Cell]:
    """Return the cells that our engine has a figure for: sorted by scenario, then by number of threads."""
    cells = dict.fromkeys(cell for report in reports for cell, of in report.cells().items() if OURS in of)
    order = list(dict.fromkeys([*TITLES, *JOBS, *(cell[0] for cell in cells)]))
    return sorted(cells, key=lambda cell: (order.index(cell[0]), cell[2]))


def _ratios(reports: Sequence[Report]) -> str:
    note = (
        "Our speedup over the best peer that gives the reference's ids, by wall-clock time and in brackets by\n"
        "processor time, and the peer's name. After it, a faster peer with other ids. For memory: the peer's as a\n"
        "multiple of ours."
    )

    def said(report: Report, cell: Cell) -> str:
        if cell not in report.cells():
            return ""
        best, other = best_peers(report, cell)
        return f"{best or 'no peer'}; other ids: {other}" if other else best or "no peer"

    cells = [cell for cell in _cells(reports) if cell[1] != PROSE]
    rows = ([cell_name(cell), *(said(report, cell) for report in reports)] for cell in cells)
    return _section("Ratios", note, ["cell", *(report.vocabulary for report in reports)], rows)


def _hostile(reports: Sequence[Report]) -> str:
    """Return the table of our engine's speed on hostile texts, compared with prose."""

    def said(report: Report, cell: Cell) -> str:
        ours, prose = (
            report.cells().get(each, {}).get(OURS) for each in (cell, ("hostile", PROSE, cell[2]))
        )  # in one process
        if ours is None or prose is None or not ours.rounds or not prose.rounds:
            return ""
        return f"{1e3 / ours.median:.1f} ns ({prose.median / ours.median:.1f})"

    note = "Our time for a byte; in brackets as a multiple of that of prose in the same process."
    rows = ([cell[1], *(said(report, cell) for report in reports)] for cell in _cells(reports) if cell[0] == "hostile")
    heads = ["one pretoken of 1 MB", *(report.vocabulary for report in reports)]
    return _section("Hostile text", note, heads, rows)


def _memory(reports: Sequence[Report]) -> str:
    note = (
        "MB of one process with one thread, minus its memory before the vocabulary was opened (Python, NumPy, the\n"
        "engine). *Dirty* memory cannot be shared with other processes. *New words* is the dirty memory after the\n"
        "given MB of entirely new words (a peer gets half a second). *Second process* is the private memory of\n"
        "another process after a megabyte, while the first one is open."
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


def _ids(reports: Sequence[Report]) -> str:
    note = (
        "Compared before anything was timed, document by document, on every text above (100,000 of the lines). For a\n"
        "job, a digest of its output is compared in every round."
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
    """Return a table with all figures of one vocabulary: a row for each cell, a column for each engine."""
    note = (
        "MB/s, or the unit named, by wall-clock time: medians, half of the interquartile range, and in brackets by\n"
        "processor time of all threads. \u2260 marks other ids than the reference's. An empty cell means that the\n"
        "engine had under a quarter of the best peer's speed with one thread, and was left out with more threads."
    )
    engines = list(dict.fromkeys(figure.engine for figure in report.figures))
    rows = (
        [cell_name(cell), *(_detail(report, cell, figures.get(name)) for name in engines)]
        for cell, figures in report.cells().items()
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
    cpu = f" ({rounded(sorted(figure.cpu)[len(figure.cpu) // 2])})" if figure.cpu else ""
    return f"{rounded(figure.median)}{unit}{spread}{cpu}{mark}"


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
    return "\n".join(["### The results of the calls", "", *lines, short])

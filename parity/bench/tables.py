"""The report as Markdown, for a terminal and to be put between two marks of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from crayon_hf.parity.speed.figures import OURS, Bench, Cell, Figure, Report, Standing, ratio
from crayon_hf.parity.speed.inputs import PROSE
from crayon_hf.util.markdown import table

from .jobs import JOBS

__all__ = ["best_peers", "to_markdown"]

ALSO_OURS = ("tokenize", "no_cartridge", "no_cache")
WITHOUT_TEXT = ("open", "short", "decode")
TITLES = {
    **dict.fromkeys(("first", "first-large", "scale"), "first pass, "),
    **dict.fromkeys(("repeated", "scale, steady"), "steady state, "),
    **{scenario: f"{scenario}, " for scenario in WITHOUT_TEXT},
    **dict.fromkeys(("new-words", "lines", "hostile"), ""),
}
"""The beginnings of the cells' names, by scenario, in the order of the table."""

Reports = Sequence[Report]
Said = Callable[[Report, Any], str]
"""Returns the content of a table's cell in the column of a report, for a row."""


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
    return standing.exact("decode" if scenario == "decode" else text)


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
        peer = figures[name]
        by_processor = f" ({rounded(ratio(ours.cpu, peer.cpu, peer.unit))})" if ours.cpu and peer.cpu else ""
        return f"{rounded(by_clock)}{by_processor} {name}"

    return said(*best) if best else "", said(*ratios[0]) if ratios and ratios[0] != best else ""


def to_markdown(bench: Bench) -> str:
    """Return all tables, as Markdown."""
    head = [*bench.machine, *([f"- {bench.settings}"] if bench.settings else [])]
    parts = ["\n".join(head), *(make(bench.reports) for make in (_ratios, _hostile, _memory, _ids))]
    parts += [*map(_details, bench.reports), _calls(bench.reports)]
    return "\n\n".join(filter(None, parts)).strip() + "\n"


def _section(title: str, note: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table below its title and a note, or "" without rows. Columns are aligned, also on a terminal."""
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines = [[first.ljust(widths[0]), *map(str.rjust, others, widths[1:])] for first, *others in lines]
    shown = table(lines[0], lines[1:], numbers=len(heads) - 1)
    return f"### {title}\n\n{note}\n\n{shown}" if len(lines) > 1 else ""


def _beside(title: str, note: str, head: str, reports: Reports, rows: Mapping[str, Any], said: Said) -> str:
    """Return a table with a column for each report. `rows` are the rows' names and the second arguments of `said`."""
    lines = ([name, *(said(report, row) for report in reports)] for name, row in rows.items())
    return _section(title, note, [head, *(report.vocabulary for report in reports)], lines)


def _cells(reports: Reports) -> list[Cell]:
    """Return the cells that our engine has a figure for: sorted by scenario, then by number of threads."""
    cells = dict.fromkeys(cell for report in reports for cell, of in report.cells().items() if OURS in of)
    order = list(dict.fromkeys([*TITLES, *JOBS, *(cell[0] for cell in cells)]))
    return sorted(cells, key=lambda cell: (order.index(cell[0]), cell[2]))


def _ratios(reports: Reports) -> str:
    note = (
        "Our speedup over the best peer that gives the reference's ids, by wall-clock time and in brackets by\n"
        "processor time, and the peer's name. After it, a faster peer with other ids. For memory: the peer's as a\n"
        "multiple of ours."
    )

    def said(report: Report, cell: Cell) -> str:
        if cell not in report.cells():
            return ""
        best, other = best_peers(report, cell)
        return f"{best or 'no peer'}{f'; other ids: {other}' if other else ''}"

    rows = {cell_name(cell): cell for cell in _cells(reports) if cell[1] != PROSE}
    return _beside("Ratios", note, "cell", reports, rows, said)


def _hostile(reports: Reports) -> str:
    """Return the table of our engine's speed on hostile texts, compared with prose."""

    def said(report: Report, cell: Cell) -> str:
        cells = (cell, ("hostile", PROSE, cell[2]))  # in one process
        found = [report.cells().get(each, {}).get(OURS) for each in cells]
        medians = [figure.median for figure in found if figure is not None and figure.rounds]
        return f"{1e3 / medians[0]:.1f} ns ({medians[1] / medians[0]:.1f})" if len(medians) == 2 else ""

    note = "Our time for a byte; in brackets as a multiple of that of prose in the same process."
    rows = {cell[1]: cell for cell in _cells(reports) if cell[0] == "hostile"}
    return _beside("Hostile text", note, "one pretoken of 1 MB", reports, rows, said)


def _memory(reports: Reports) -> str:
    note = (
        "MB of one process with one thread, minus its memory before the vocabulary was opened (Python, NumPy, the\n"
        "engine). *Dirty* memory cannot be shared with other processes. *New words* is the dirty memory after the\n"
        "given MB of entirely new words (a peer gets half a second)."
    )

    rows = (
        [
            f"{report.vocabulary}, {engine}",
            f"{trial['after'][-1]['resident']:.0f}",
            *(f"{trial['opened'][f'{kind}_grown']:.1f}" for kind in ("resident", "dirty")),
            "; ".join(f"{each['dirty_grown']:.1f} ({each['bytes'] / 1e6:.0f} MB)" for each in trial["after"]),
        ]
        for report in reports
        for engine, trial in report.memory.items()
        if trial["opened"] and trial["after"]
    )
    heads = ["", "whole process", "open: resident", "open: dirty", "new words"]
    return _section("Memory", note, heads, rows)


def _ids(reports: Reports) -> str:
    note = (
        "Compared before anything was timed, document by document, on every text above. For a\n"
        "job, a digest of its output is compared in every round."
    )
    names = {name: name for report in reports for name in report.standings}
    ids = _beside("Whose ids are the reference's", note, "engine", reports, names, _standing)
    references = "References: " + ", ".join(f"{report.vocabulary} {report.reference}" for report in reports) + "."
    said = [(report.vocabulary, note) for report in reports for note in report.notes]
    missing = dict.fromkeys(f"- {note}" for _, note in said if "not installed" in note)
    notes = [*missing, *(f"- {name}: {note}" for name, note in said if "not installed" not in note)]
    return "\n\n".join(filter(None, [ids, references, "\n".join(notes)]))


def _standing(report: Report, engine: str) -> str:
    standing = report.standings.get(engine)
    if standing is None:
        return ""
    if standing.cannot_open:
        return "not installed" if standing.missing else "cannot open it"
    said, texts = [], report.texts
    if wrong := sum(count for name, count in standing.differing.items() if name in texts):
        said.append(f"{wrong:,} of {sum(text['documents'] for text in texts.values()):,} documents differ")
    if "decode" in standing.differing:
        said.append(f"{standing.differing['decode']:,} decoded differ")
    if standing.failed:
        said.append("no ids" if texts.keys() <= standing.failed.keys() else f"no ids: {', '.join(standing.failed)}")
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
    cpu = f" ({rounded(median(figure.cpu))})" if figure.cpu else ""
    return f"{rounded(figure.median)}{unit}{spread}{cpu}{mark}"


def _calls(reports: Reports) -> str:
    found = {
        f"- {figure.engine} `{figure.call}`: {figure.gives}"
        for report in reports
        for figure in report.figures
        if figure.gives and figure.scenario not in ("open", "short")
    }
    short = f"- one short string: `encode` of each engine, to ids; {OURS}, tokenizers: `encode(text).ids`"
    return "\n".join(["### The results of the calls", "", *sorted(found), short]) if found else ""

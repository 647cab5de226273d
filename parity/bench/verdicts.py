"""Each cell judged: our figure, the best peer with the same ids, the best of all, the target, and what falls short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crayon_hf.parity.speed.figures import Cell, Figure, Report, Standing, ratio
from crayon_hf.parity.speed.inputs import PROSE

from .targets import HOSTILE_PROSE, JOBS, MEMORY_MB, RATIOS

__all__ = ["OURS", "Verdict", "is_exact", "memory_shortfalls", "reason_for", "verdicts"]

OURS = "crayon"
FLAT_MB = 1.0
"""So much more memory after all of the new words than after the first of them is still called flat."""


@dataclass(frozen=True)
class Verdict:
    """One cell of one vocabulary."""

    vocabulary: str
    cell: Cell
    ours: Figure
    best: Figure | None
    """The fastest peer that gives the same ids."""
    ratio: float | None
    other: Figure | None
    """A peer with other ids that is faster than ``best``."""
    other_ratio: float | None
    target: float | None
    prose: float | None
    """Hostile text: our time for a byte as a multiple of that of prose."""

    @property
    def short(self) -> bool:
        """Whether the cell falls short of what is promised."""
        if self.target is None:
            return False
        slow = self.ratio is not None and self.ratio < self.target
        return slow or (self.prose is not None and self.prose > HOSTILE_PROSE)

    @property
    def name(self) -> str:
        """The cell in words."""
        return cell_name(self.cell)


def cell_name(cell: Cell) -> str:
    """A cell in words."""
    scenario, text, threads = cell
    where = {"open": "", "short": "", "decode": ""}.get(scenario, f"{text}, ")
    titles = {
        "first": "first pass, ",
        "first-large": "first pass, ",
        "repeated": "steady state, ",
        "lists": "first pass as lists, ",
    }
    is_job = scenario.partition(", ")[0] in JOBS
    title = titles.get(scenario, "" if where and not is_job else f"{scenario}, ")
    return f"{title}{where}{threads} thread{'s'[: threads != 1]}"


def is_exact(standing: Standing, cell: Cell) -> bool:
    """Whether what an engine gave in a cell is what the reference gives."""
    scenario, text, _ = cell
    if scenario == "open":
        return not standing.cannot_open and not standing.differing
    if scenario == "decode":
        return standing.exact("decode")
    return standing.exact(f"{text}, as lists" if scenario == "lists" else text)


def verdicts(report: Report) -> list[Verdict]:
    """Every cell that we have a figure in."""
    cells = report.cells()
    found = []
    for cell, figures in cells.items():
        ours = figures.get(OURS)
        if ours is None or not ours.rounds or cell[1] == PROSE:
            continue
        ratios = {
            name: ratio(ours.rounds, figure.rounds, figure.unit)
            for name, figure in figures.items()
            if name != OURS and figure.rounds
        }
        exact = [name for name in ratios if is_exact(report.standings[name], cell)]
        best = min(exact, key=lambda name: ratios[name], default=None)
        first = min(ratios, key=lambda name: ratios[name], default=None)
        other = first if first is not None and first not in exact else None
        prose = cells.get(("hostile", PROSE, cell[2]), {}).get(OURS) if cell[0] == "hostile" else None
        found.append(
            Verdict(
                report.vocabulary,
                cell,
                ours,
                figures[best] if best else None,
                ratios[best] if best else None,
                figures[other] if other else None,
                ratios[other] if other else None,
                RATIOS.get(cell[0]),
                prose.median / ours.median if prose is not None and prose.rounds else None,
            )
        )
    return found


def memory_shortfalls(report: Report) -> list[str]:
    """What of our memory is more than promised."""
    trial = report.memory.get(OURS)
    if trial is None:
        return []
    found = []
    private = trial.extra.get("private_grown")
    if private is not None and private > MEMORY_MB:
        found.append(f"{private:.1f} MB private in a second process, over {MEMORY_MB:g}")
    if len(trial.after) > 1:
        early = next((each for each in trial.after if each["bytes"] >= 2_000_000), trial.after[0])
        last = trial.after[-1]
        if last["dirty_grown"] > early["dirty_grown"] + FLAT_MB:
            found.append(
                f"{early['dirty_grown']:.1f} MB after {early['bytes'] / 1e6:.0f} MB of new words, "
                f"{last['dirty_grown']:.1f} MB after {last['bytes'] / 1e6:.0f}: not flat"
            )
    return found


def reason_for(verdict: Verdict, reasons: Sequence[dict[str, Any]]) -> str:
    """Why a cell falls short and what would move it: the first entry all of whose keys agree with the cell."""
    scenario, text, threads = verdict.cell
    facts = {"scenario": scenario, "text": text, "threads": threads, "vocabulary": verdict.vocabulary}
    for reason in reasons:
        named = {key: value for key, value in reason.items() if key in facts}
        if all(
            facts[key] == value or (isinstance(value, list) and facts[key] in value) for key, value in named.items()
        ):
            return f"{reason['why']} What would move it: {reason['moves']}"
    return "No reason is written down yet."

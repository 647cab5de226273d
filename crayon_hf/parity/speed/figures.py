"""The speeds and memory that a benchmark measured, with the value of every round, in a form that JSON can hold."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["OURS", "SCHEMA", "Bench", "Cell", "Figure", "Report", "Standing"]

SCHEMA = 2
OURS = "crayon"
UNITS = {"s": 1.0, "ms": 1e3, "\u00b5s": 1e6}
"""The units of times, each with its number in a second."""


@dataclass
class Figure:
    """The speed of one engine in one cell: a scenario, a text and a number of threads."""

    scenario: str
    text: str
    threads: int
    engine: str
    call: str
    gives: str
    unit: str
    """``MB/s``, where more is better, or a unit of time, where less is better."""
    rounds: list[float] = field(default_factory=list)
    """Each round by wall-clock time."""
    cpu: list[float] = field(default_factory=list)
    """Each round by the processor time of all threads together."""
    note: str = ""
    """Why the figure is missing: the engine took too long, or failed."""

    @property
    def median(self) -> float:
        """The median of the rounds, of which at least one must exist."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """Half of the interquartile range, as a fraction of the median."""
        if len(self.rounds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (high - low) / 2 / self.median


@dataclass
class Standing:
    """Whether an engine opens a vocabulary, and whether its ids equal those of the reference."""

    engine: str
    version: str = ""
    cannot_open: str = ""
    missing: bool = False
    differing: dict[str, int] = field(default_factory=dict)
    """The number of documents with other ids, by text. The key ``decode`` is for decoded texts."""
    failed: dict[str, str] = field(default_factory=dict)
    """Why a text's ids are missing, by text."""

    def exact(self, text: str) -> bool:
        """Whether the engine's ids of a text are right."""
        return not self.cannot_open and not self.differing.get(text) and text not in self.failed


Cell = tuple[str, str, int]
"""Scenario, text and number of threads."""


@dataclass
class Report:
    """All figures of one vocabulary."""

    vocabulary: str
    reference: str
    texts: dict[str, dict[str, int]] = field(default_factory=dict)
    """The bytes of each text, the number of its documents whose ids were compared, and their tokens."""
    standings: dict[str, Standing] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The memory of each engine, in MB: when it was ``opened``, and ``after`` given bytes of entirely new words."""
    notes: list[str] = field(default_factory=list)
    same_ids: bool = True
    """Whether our ids equal the reference's. If not, nothing is timed."""

    def cells(self) -> dict[Cell, dict[str, Figure]]:
        """The figures by cell and engine, in order of creation."""
        found: dict[Cell, dict[str, Figure]] = {}
        for figure in self.figures:
            found.setdefault((figure.scenario, figure.text, figure.threads), {})[figure.engine] = figure
        return found

    def add(self, figure: Figure) -> None:
        """Add the rounds of a figure to the figure of the same engine and cell, if that exists."""
        cell = (figure.scenario, figure.text, figure.threads)
        known = self.cells().get(cell, {}).get(figure.engine)
        if known is None:
            self.figures.append(figure)
        else:
            known.rounds += figure.rounds
            known.cpu += figure.cpu
            known.note = known.note or figure.note

    @staticmethod
    def from_json(plain: dict[str, Any]) -> Report:
        """Return the report that ``to_json`` has made plain."""
        return Report(
            **{
                **plain,
                "standings": {name: Standing(**each) for name, each in plain["standings"].items()},
                "figures": [Figure(**each) for each in plain["figures"]],
            }
        )


@dataclass
class Bench:
    """The results of a run of the benchmark."""

    machine: list[str] = field(default_factory=list)
    settings: str = ""
    reports: list[Report] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain values, with every round."""
        return {"schema": SCHEMA, **asdict(self)}

    @staticmethod
    def from_json(plain: dict[str, Any]) -> Bench:
        """Make the results again from the values that ``to_json`` returned."""
        if plain.get("schema") != SCHEMA:
            raise ValueError(f"these figures are of schema {plain.get('schema')}, not {SCHEMA}: measure again")
        return Bench(plain["machine"], plain["settings"], [Report.from_json(each) for each in plain["reports"]])


def value_of(seconds: float, size: int, unit: str) -> float:
    """Return the speed or the time, in a figure's unit, of work on `size` bytes that took some seconds."""
    return size / 1e6 / max(seconds, 1e-9) if unit == "MB/s" else seconds * UNITS[unit]


def ratio(ours: Sequence[float], theirs: Sequence[float], unit: str) -> float:
    """The speedup of ours over theirs, from medians."""
    one, other = statistics.median(ours), statistics.median(theirs)
    return one / other if unit == "MB/s" else other / one

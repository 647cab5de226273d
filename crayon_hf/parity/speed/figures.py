"""The figures of a run: every round, as plain values that are kept as JSON and read again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["OURS", "SCHEMA", "Cell", "Figure", "Report", "Standing", "Trial"]

SCHEMA = 2
OURS = "crayon"


@dataclass
class Figure:
    """One engine in one cell."""

    scenario: str
    text: str
    threads: int
    engine: str
    call: str
    gives: str
    unit: str
    """``MB/s``, where more is better, or a unit of time, where less is."""
    rounds: list[float] = field(default_factory=list)
    """By the clock."""
    cpu: list[float] = field(default_factory=list)
    """By the processor's time of all threads together."""
    note: str = ""
    """Why there is no figure: it took too long, or failed."""

    @property
    def median(self) -> float:
        """Of the rounds; there must be one."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """Half of the range of the middle half, as a part of the median."""
        if len(self.rounds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (high - low) / 2 / self.median


@dataclass
class Standing:
    """An engine before a vocabulary: does it open it, and are its ids those of the reference?"""

    engine: str
    version: str = ""
    cannot_open: str = ""
    missing: bool = False
    differing: dict[str, int] = field(default_factory=dict)
    """By text: in how many documents its ids are others. ``decode`` is what decoding gives."""
    failed: dict[str, str] = field(default_factory=dict)
    """By text: why there are no ids."""

    def exact(self, text: str) -> bool:
        """Whether its ids of a text are right."""
        return not self.cannot_open and not self.differing.get(text) and text not in self.failed


@dataclass
class Trial:
    """Memory of one engine, in MB: the process, what only it has, what of that is no clean page of a file."""

    engine: str
    opened: dict[str, float] = field(default_factory=dict)
    after: list[dict[str, float]] = field(default_factory=list)
    """After so many ``bytes`` of words that are all new."""
    extra: dict[str, float] = field(default_factory=dict)
    """A second process, while the first one is open, after a megabyte."""


Cell = tuple[str, str, int]
"""Scenario, text and number of threads."""


@dataclass
class Report:
    """All figures of one vocabulary."""

    vocabulary: str
    reference: str
    texts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Bytes; the documents whose ids were compared, and their tokens."""
    standings: dict[str, Standing] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    memory: dict[str, Trial] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    same_ids: bool = True
    """False when ours differs from the reference: then nothing is timed."""

    def cells(self) -> dict[Cell, dict[str, Figure]]:
        """The figures by cell and engine, in the order in which they were made."""
        found: dict[Cell, dict[str, Figure]] = {}
        for figure in self.figures:
            found.setdefault((figure.scenario, figure.text, figure.threads), {})[figure.engine] = figure
        return found

    def add(self, figure: Figure) -> None:
        """A figure of a round: with those of its engine and cell that are there."""
        cell = (figure.scenario, figure.text, figure.threads)
        known = self.cells().get(cell, {}).get(figure.engine)
        if known is None:
            self.figures.append(figure)
        else:
            known.rounds += figure.rounds
            known.cpu += figure.cpu
            known.note = known.note or figure.note

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @staticmethod
    def from_json(plain: dict[str, Any]) -> Report:
        """What ``to_json`` gave."""
        return Report(
            **{
                **plain,
                "standings": {name: Standing(**each) for name, each in plain["standings"].items()},
                "figures": [Figure(**each) for each in plain["figures"]],
                "memory": {name: Trial(**each) for name, each in plain["memory"].items()},
            }
        )


def ratio(ours: Sequence[float], theirs: Sequence[float], unit: str) -> float:
    """How many times as fast ours is, of medians."""
    one, other = statistics.median(ours), statistics.median(theirs)
    return one / other if unit == "MB/s" else other / one

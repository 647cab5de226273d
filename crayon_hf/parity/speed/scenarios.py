"""Plans the processes that measure the scenarios of a benchmark, and reads the speeds from their results.

A cell is the place of a speed in the results: a scenario, a text and a number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .figures import Figure
from .inputs import HOSTILE, PROSE, Inputs
from .processes import Outcome

__all__ = ["SHORT_LAPS", "STEADY", "STEADY_AFTER", "Job", "figures_of", "plan"]

STEADY_AFTER, STEADY = 5, 5
"""The number of passes over a text before its steady state, and the number that measure the steady state."""
SHORT_LAPS = 60
STEP_LIMIT = 60.0
HOSTILE_LIMIT = 5.0
SLOWEST = 200_000
"""The least speed, in bytes a second, at which an engine is not stopped on a large text."""
SCALE_STEADY, SCALE_SECONDS = 3, 60.0
"""The number of passes over a text of ``scale`` after the first one. After the given seconds, no third pass begins."""
MEMORY = {"before": "before the first pass", "peak": "at most", "after": "after the passes", "trimmed": "after trim()"}
"""The memory figures of a process that passes over a text of the scenario ``scale``."""


@dataclass(frozen=True)
class Job:
    """The measurements of one fresh process."""

    name: str
    threads: int
    steps: tuple[dict[str, Any], ...]
    call: str = "best"
    once: bool = False
    """Whether to run in the first round only."""
    fills: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """The (scenario, text) of each step's cells. The first is for the first pass, the second for the steady state."""


def plan(scenarios: Sequence[str], inputs: Inputs, threads: Sequence[int], ids: str = "") -> list[Job]:
    """Return the processes that each engine needs for one round. ``ids`` is the file of ids to decode."""
    jobs: list[Job] = []

    def add(
        name: str, count: int, *fills: str, step: dict[str, Any] | None = None, title: str = "", **how: Any
    ) -> None:
        """Add a process that passes over the text `name`; its cells are of the scenarios `fills`."""
        step = _passes(inputs, name) if step is None else step
        jobs.append(Job(title or name, count, (step,), fills={name: tuple((each, name) for each in fills)}, **how))

    for count in threads:
        if {"first", "repeated"} & set(scenarios):
            repeats = STEADY_AFTER + STEADY - 1 if "repeated" in scenarios else 0
            for name in inputs.corpus:
                add(name, count, "first", "repeated", step=_passes(inputs, name, repeats))
        if "first-large" in scenarios:
            for name in inputs.large:
                add(name, count, "first-large")
        jobs += _together(scenarios, inputs, count, ids, count == min(threads))
        if "lines" in scenarios and count == max(threads):
            add("lines", count, "lines", once=True)
        for name in inputs.scale:
            limit = STEP_LIMIT + (2 + SCALE_STEADY) * inputs.texts[name].bytes / SLOWEST
            step = _passes(inputs, name, SCALE_STEADY) | {"limit": limit, "seconds": SCALE_SECONDS, "steady": 1}
            add(name, count, "scale", "scale, steady", step=step)
    if "lists" in scenarios and inputs.corpus:
        add(inputs.corpus[0], min(threads), "lists", title="lists", call="lists", once=True)
    if "open" in scenarios and not jobs:
        jobs.append(Job("open", min(threads), ()))
    return jobs


def _together(scenarios: Sequence[str], inputs: Inputs, count: int, ids: str, alone: bool) -> list[Job]:
    """Return the process for scenarios that can share one, and the process of the hostile texts.

    The shared process encodes its long document first, and words that no cache has. `alone` says whether to measure
    scenarios that run with one number of threads only.
    """
    steps: list[dict[str, Any]] = []
    fills: dict[str, tuple[tuple[str, str], ...]] = {}
    for scenario, name in (("long-document", "one document"), ("new-words", "new words")):
        if scenario in scenarios:
            steps.append(_passes(inputs, name))
            fills[name] = ((scenario, name),)
    if "decode" in scenarios and ids:
        steps.append({"kind": "decode", "name": "decode", "path": ids, "limit": STEP_LIMIT})
        fills["decode"] = (("decode", "decoded"),)
    if "short" in scenarios and alone:
        name = "short strings"
        path = inputs.texts[name].path
        steps.append({"kind": "short", "name": name, "path": path, "laps": SHORT_LAPS, "limit": STEP_LIMIT})
        fills[name] = (("short", name),)
    jobs = [Job("together", count, tuple(steps), fills=fills)] if steps else []
    if "hostile" in scenarios and alone:
        hostile = tuple({**_passes(inputs, name), "limit": HOSTILE_LIMIT} for name in (PROSE, *HOSTILE))
        fills = {name: (("hostile", name),) for name in (PROSE, *HOSTILE)}
        jobs.append(Job("hostile", count, hostile, once=True, fills=fills))
    return jobs


def _passes(inputs: Inputs, name: str, repeats: int = 0) -> dict[str, Any]:
    path = inputs.texts[name].path
    passes = {"repeats": repeats, "seconds": 1.0, "steady": STEADY_AFTER}
    return {"kind": "passes", "name": name, "path": path, "limit": STEP_LIMIT, **passes}


def figures_of(job: Job, engine: str, outcome: Outcome, inputs: Inputs, scenarios: Sequence[str]) -> list[Figure]:
    """Return the figures that the outcome of a job's process has for the given scenarios."""
    opened = outcome.opened
    if not opened:
        return []
    found = []
    for step, cells in job.fills.items():
        result = outcome.steps.get(step)
        if result is None:
            continue
        decoding = step == "decode"
        call, gives = (opened["decode"], "texts") if decoding else (opened["call"], opened["gives"])
        note = "" if result["status"] == "ok" else result["says"]
        for index, (scenario, text) in enumerate(cells):
            if scenario.partition(",")[0] not in scenarios:
                continue
            unit = "\u00b5s" if scenario == "short" else "MB/s"
            figure = Figure(scenario, text, job.threads, engine, call, gives, unit, note=note)
            if not note:
                take = slice(result["steady"], None) if index else slice(0, 1)
                size = inputs.texts[text].bytes
                figure.rounds = [_value(each, size, unit) for each in result["wall"][take]]
                figure.cpu = [_value(each, size, unit) for each in result["cpu"][take]]
            if note or figure.rounds:
                found.append(figure)
        for key, name in MEMORY.items() if result.get("peak") else ():
            value = [result[key]["resident"] if key != "peak" else result[key]]
            found.append(Figure(f"scale, memory {name}", step, job.threads, engine, call, gives, "MB", value))
    if "open" in scenarios:
        found.append(
            Figure("open", "first in a process", 1, engine, "open", "a tokenizer", "ms", [opened["open_ms"]], [])
        )
    return found


def _value(seconds: float, size: int, unit: str) -> float:
    return seconds * 1e6 if unit != "MB/s" else size / 1e6 / max(seconds, 1e-9)

"""The scenarios of a benchmark: how a process measures the texts of each, and how its results become figures.

A cell is the place of a speed in the results: a scenario, a text and a number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .child.serve import Task
from .figures import Figure, value_of
from .inputs import DOCUMENTS_OF_A_CALL, Text
from .processes import Outcome

__all__ = ["SCENARIOS", "SLOWEST", "Job", "figures_of", "plan"]

SLOWEST = 200_000
"""The least speed, in bytes a second, at which an engine is not stopped on a large text."""
SHORT_LAPS = 60
MEMORY = {"before": "before the first pass", "peak": "at most", "after": "after the passes", "trimmed": "after trim()"}
"""The memory figures of a process that passes over a text of the scenario ``scale``."""


class Scenario(NamedTuple):
    """How the texts of a scenario are measured."""

    process: str = ""
    """The name of the process that measures all texts of this name. By default, each text has a process of its own."""
    threads: Callable[[Sequence[int]], int] | None = None
    """Chooses the number of threads that is measured. By default, all are."""
    once: bool = False
    """Whether to measure in the first round only."""
    kind: str = "passes"
    """The method of the child process that measures."""
    unit: str = "MB/s"
    limit: float = 60.0
    """The most seconds for a text."""
    repeats: int = 0
    """The number of passes after the first one. None begins after `seconds`."""
    seconds: float = 1.0
    steady: str = ""
    """The scenario of the repeated passes, from number `steady_after` on."""
    steady_after: int = 0


SCENARIOS = {
    "first": Scenario(repeats=9, steady="repeated", steady_after=5),
    "first-large": Scenario(),
    "new-words": Scenario("together"),
    "decode": Scenario("together", kind="decode"),
    "short": Scenario("together", min, kind="short", unit="\u00b5s"),
    "hostile": Scenario("hostile", min, once=True, limit=5.0),
    "lines": Scenario(threads=max, once=True),
    "scale": Scenario(repeats=3, seconds=60.0, steady="scale, steady", steady_after=1),
}
"""The scenarios that have texts. In a shared process, the texts are measured in this order."""


@dataclass(frozen=True)
class Job:
    """The measurements of one fresh process."""

    name: str
    threads: int
    once: bool = False
    """Whether to run in the first round only."""
    steps: list[tuple[Text, Task]] = field(default_factory=list)


def plan(scenarios: Sequence[str], texts: Sequence[Text], threads: Sequence[int], ids: str) -> list[Job]:
    """Return the processes that each engine needs for one round. `ids` is the file of ids to decode."""
    jobs: dict[tuple[str, int], Job] = {}
    for count in threads:
        for text in texts:
            how = SCENARIOS.get(text.scenario)
            if how is None or not {text.scenario, how.steady} & {*scenarios}:
                continue
            if how.threads is None or how.threads(threads) == count:
                name = how.process or text.name
                job = jobs.setdefault((name, count), Job(name, count, how.once))
                job.steps.append((text, _step(text, how, scenarios, ids)))
    if "open" in scenarios and not jobs:
        return [Job("open", min(threads))]
    return list(jobs.values())


def _step(text: Text, how: Scenario, scenarios: Sequence[str], ids: str) -> Task:
    step = {"kind": how.kind, "name": text.name, "path": text.path, "limit": how.limit}
    if how.kind == "decode":
        return {**step, "name": "decode", "path": ids}
    if how.kind == "short":
        return {**step, "laps": SHORT_LAPS}
    repeats = how.repeats if how.steady.partition(",")[0] in scenarios else 0
    step |= {"repeats": repeats, "seconds": how.seconds, "batch": None}
    if text.scenario == "scale":
        step |= {"batch": DOCUMENTS_OF_A_CALL, "limit": how.limit + (2 + repeats) * text.bytes / SLOWEST}
    return step


def figures_of(job: Job, engine: str, outcome: Outcome, scenarios: Sequence[str]) -> Iterator[Figure]:
    """Yield the figures that the outcome of a job's process has for the given scenarios."""
    opened = outcome.opened
    if not opened:
        return
    for text, step in job.steps:
        how, result = SCENARIOS[text.scenario], outcome.steps.get(step["name"])
        if result is None:
            continue
        call, gives = (opened["decode"], "texts") if how.kind == "decode" else (opened["call"], opened["gives"])
        note = "" if result["status"] == "ok" else result["says"]
        times = result.get("times", [])
        for scenario, some in ((text.scenario, times[:1]), (how.steady, times[how.steady_after :])):
            if scenario.partition(",")[0] in scenarios and (some or note):
                wall, cpu = ([value_of(pair[which], text.bytes, how.unit) for pair in some] for which in (0, 1))
                yield Figure(scenario, text.name, job.threads, engine, call, gives, how.unit, wall, cpu, note)
        for key, name in MEMORY.items() if result.get("peak") else ():
            value: Any = result[key] if key == "peak" else result[key]["resident"]
            yield Figure(f"scale, memory {name}", text.name, job.threads, engine, call, gives, "MB", [value])
    if "open" in scenarios:
        yield Figure("open", "first in a process", 1, engine, "open", "a tokenizer", "ms", [opened["open_ms"]])

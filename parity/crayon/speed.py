"""The speed of CRAYON's releases and of ours on the same texts, in interleaved rounds of fresh processes.

In each round every contestant has a new process. All of them do the cold pass in turn, then three warm passes in turn.
A ratio is that of two contestants in one round; the table has the median over the rounds, by the clock and, in
brackets, by the processor's time in all threads.
"""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from crayon_hf.parity.inputs.texts import documents, find_text, read_text
from crayon_hf.parity.speed.machine import cpu_model
from crayon_hf.parity.speed.processes import all_cores
from parity.crayon.processes import Opened

_SHORT, _SHORT_CHARACTERS, _WARM = 2000, 120, 3

Seconds = tuple[float, float]
"""By the clock, and of the processor."""


@dataclass(frozen=True)
class Plan:
    """What is measured and how."""

    path: str
    python: str
    other_python: str
    rounds: int = 5
    cores: int = 1


@dataclass(frozen=True)
class Contestant:
    """A vocabulary in one environment, and the call that is timed."""

    name: str
    engine: str
    python: str
    call: str

    def call_for(self, work: Work) -> str:
        """Its call for texts that come one by one, or all at a time."""
        return "each" if work.singly else self.call


@dataclass(frozen=True)
class Work:
    """The texts of one line of the table."""

    name: str
    texts: list[str]
    singly: bool = False
    """One call for each text."""

    @property
    def bytes(self) -> int:
        """Their size in UTF-8."""
        return sum(len(text.encode()) for text in self.texts)


@dataclass
class Times:
    """The passes of a contestant, one entry a round."""

    cold: list[Seconds] = field(default_factory=list)
    warm: list[Seconds] = field(default_factory=list)
    open_ms: list[float] = field(default_factory=list)


def works(name: str, data: bytes) -> Iterator[Work]:
    """Short lines one by one, documents of 2 KB, the first 4 MB as one text and all of it as one text."""
    lines = [line for line in data[:4_000_000].decode(errors="ignore").splitlines() if line.strip()]
    short = [line[:_SHORT_CHARACTERS] for line in lines[:_SHORT]]
    yield Work(f"{name}, {len(short):,} lines one by one", short, singly=True)
    pieces = list(documents(data))
    four = len("".join(pieces[:1954]).encode())
    yield Work(f"{name}, documents of 2 KB", pieces[:1954])
    yield Work(f"{name}, one text of {four / 1e6:.1f} MB", ["".join(pieces[:1954])])
    if len(data) > four:
        yield Work(f"{name}, one text of {len(data) / 1e6:.1f} MB", [data.decode()])


def contestants(plan: Plan) -> list[Contestant]:
    """CRAYON, the other release where one was given, and ours as lists and as arrays."""
    found = [Contestant("crayon", "crayon", plan.python, "tokenize")]
    if plan.other_python:
        found.append(Contestant("other", "crayon", plan.other_python, "tokenize"))
    return [*found, Contestant("lists", "ours", "", "tokenize"), Contestant("arrays", "ours", "", "arrays")]


def measure(plan: Plan, work: Work) -> dict[str, Times]:
    """All rounds of one line."""
    cores = all_cores()[-plan.cores :]
    entrants = [each for each in contestants(plan) if not (work.singly and each.call == "arrays")]
    times = {each.name: Times() for each in entrants}
    for number in range(plan.rounds):
        order = entrants[number % len(entrants) :] + entrants[: number % len(entrants)]
        with ExitStack() as stack:
            opened = {e: stack.enter_context(Opened(e.engine, plan.path, e.python, cores)) for e in order}
            for each, process in opened.items():
                process.keep(work.texts)
                times[each.name].open_ms.append(process.open_ms)
            passes = [[opened[e].time(e.call_for(work)) for e in order] for _ in range(1 + _WARM)]
            for place, each in enumerate(order):
                warm = [laps[place] for laps in passes[1:]]
                times[each.name].cold.append(passes[0][place])
                times[each.name].warm.append((_median(warm, 0), _median(warm, 1)))
    return times


def _median(laps: Sequence[Seconds], which: int) -> float:
    return statistics.median(lap[which] for lap in laps)


def ratio(slow: Sequence[Seconds], fast: Sequence[Seconds]) -> str:
    """How many times as fast: the median over the rounds by the clock, in brackets by the processor."""
    wall, cpu = (statistics.median(s[i] / max(f[i], 1e-9) for s, f in zip(slow, fast, strict=True)) for i in (0, 1))
    return f"{wall:.1f} ({cpu:.1f})"


def rate(laps: Sequence[Seconds], work: Work) -> str:
    """MB/s by the clock, or microseconds a call for short texts."""
    wall = _median(laps, 0)
    return f"{wall / len(work.texts) * 1e6:.2f} µs" if work.singly else f"{work.bytes / wall / 1e6:.1f}"


def show(plan: Plan, texts: Sequence[str], limit: int | None) -> None:
    """Print the table of a cartridge."""
    with Opened("crayon", plan.path, plan.python) as crayon:
        first = crayon.release
    other = ""
    if plan.other_python:
        with Opened("crayon", plan.path, plan.other_python) as opened:
            other = opened.release
    cores = f"{plan.cores} core{'s'[: plan.cores != 1]}"
    print(f"\n{Path(plan.path).name}: {cpu_model()}, {cores}, Python {platform.python_version()}")
    print(f"{plan.rounds} rounds; MB/s by the clock; ratios by the clock (by the processor)\n")
    names = [first, *([other] if other else []), "ours, lists", "ours, arrays"]
    pairs = [("crayon", "lists"), ("crayon", "arrays"), *([("other", "lists"), ("other", "arrays")] if other else [])]
    heads = [f"{'lists' if b == 'lists' else 'arrays'} / {first if a == 'crayon' else other}" for a, b in pairs]
    print(f"| text | pass | {' | '.join([*names, *heads])} |")
    print("|---|---|" + "--:|" * (len(names) + len(heads)))
    opening: dict[str, list[float]] = {}
    for text in texts:
        file = find_text(text)
        for work in works(file.name.split(".")[0], read_text(file, limit)):
            times = measure(plan, work)
            for name, each in times.items():
                opening.setdefault(name, []).extend(each.open_ms)
            for which in ("cold", "warm"):
                laps: dict[str, list[Seconds]] = {name: getattr(each, which) for name, each in times.items()}
                rates = [rate(laps[c.name], work) if c.name in laps else "" for c in contestants(plan)]
                ratios = [ratio(laps[a], laps[b]) if b in laps else "" for a, b in pairs]
                print(f"| {work.name} | {which} | {' | '.join([*rates, *ratios])} |", flush=True)
    medians = map(statistics.median, opening.values())
    opened_in = ", ".join(f"{name} {ms:.1f} ms" for name, ms in zip(names, medians, strict=True))
    print(f"\nOpening: {opened_in}")

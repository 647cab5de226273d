"""The speed of CRAYON's releases and of ours on the same texts, in interleaved rounds of the benchmark's processes.

In each round every contestant has a new process, in another order each time: a cold pass, then three warm ones. A ratio
is that of two contestants in one round; the table has the median over the rounds, by the clock and, in brackets, by the
processor's time in all threads.
"""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from crayon_hf.errors import UnsupportedError
from crayon_hf.parity.inputs.texts import documents, find_text, read_text
from crayon_hf.parity.speed.machine import cpu_model
from crayon_hf.parity.speed.processes import Engine, run_job
from crayon_hf.util.markdown import table_lines

_SHORT, _SHORT_CHARACTERS, _WARM, _LIMIT = 2000, 120, 3, 300.0

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

    @property
    def contestants(self) -> dict[str, tuple[Engine, str]]:
        """By name, with their calls: CRAYON, the other release where one is given, ours as lists and as arrays."""
        other = {"other": (Engine("xerv", python=self.other_python), "best")} if self.other_python else {}
        ours = {"lists": (Engine("vocab"), "lists"), "arrays": (Engine("vocab"), "best")}
        return {"crayon": (Engine("xerv", python=self.python), "best"), **other, **ours}


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


def measure(plan: Plan, work: Work) -> dict[str, Times]:
    """All rounds of one line. UnsupportedError for a contestant that fails."""
    entrants = [name for name in plan.contestants if not (work.singly and name == "arrays")]
    times = {name: Times() for name in entrants}
    with TemporaryDirectory(prefix="crayon-speed-") as directory:
        path = Path(directory, "texts.json")
        path.write_text(json.dumps(work.texts), encoding="utf-8")
        step = {"kind": "passes", "name": "passes", "path": str(path), "repeats": _WARM, "limit": _LIMIT}
        for number in range(plan.rounds):
            turn = number % len(entrants)
            for name in entrants[turn:] + entrants[:turn]:
                engine, call = plan.contestants[name]
                steps = [{**step, "single": work.singly}]
                outcome = run_job(engine, {"dat": plan.path}, steps, plan.cores, call=call)
                result = outcome.steps.get("passes", {})
                if "wall" not in result:
                    raise UnsupportedError(f"{name}: {outcome.cannot_open or result}")
                cold, *warm = zip(result["wall"], result["cpu"], strict=True)
                times[name].cold.append(cold)
                times[name].warm.append((_median(warm, 0), _median(warm, 1)))
                times[name].open_ms.append(outcome.opened["open_ms"])
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
    releases = [
        run_job(engine, {"dat": plan.path}, [], 1).opened.get("version", "CRAYON")
        for name, (engine, _) in plan.contestants.items()
        if engine.name == "xerv"
    ]
    cores = f"{plan.cores} core{'s'[: plan.cores != 1]}"
    print(f"\n{Path(plan.path).name}: {cpu_model()}, {cores}, Python {platform.python_version()}")
    print(f"{plan.rounds} rounds; MB/s by the clock; ratios by the clock (by the processor)\n")
    names = [*releases, "ours, lists", "ours, arrays"]
    theirs = dict(zip(("crayon", "other"), releases, strict=False))
    pairs = [(name, call) for name in theirs for call in ("lists", "arrays")]
    heads = [f"{call} / {theirs[name]}" for name, call in pairs]
    opening: dict[str, list[float]] = {}

    def rows() -> Iterator[list[str]]:
        for file in map(find_text, texts):
            for work in works(file.name.split(".")[0], read_text(file, limit)):
                times = measure(plan, work)
                for name, each in times.items():
                    opening.setdefault(name, []).extend(each.open_ms)
                for which in ("cold", "warm"):
                    laps: dict[str, list[Seconds]] = {name: getattr(each, which) for name, each in times.items()}
                    rates = [rate(laps[name], work) if name in laps else "" for name in plan.contestants]
                    yield [work.name, which, *rates, *(ratio(laps[a], laps[b]) if b in laps else "" for a, b in pairs)]

    for line in table_lines(["text", "pass", *names, *heads], rows(), numbers=len(names) + len(heads)):
        print(line, flush=True)
    medians = map(statistics.median, opening.values())
    opened_in = ", ".join(f"{name} {ms:.1f} ms" for name, ms in zip(names, medians, strict=True))
    print(f"\nOpening: {opened_in}")

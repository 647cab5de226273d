"""Run tasks in fresh processes. A crash or a hang is a result; another process then does the remaining tasks.

`run_job` runs the tasks of a benchmark with one engine, on chosen cores and with a number of threads.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ..compare.children import Child, command_by_path
from .child.serve import OPENING, Task

__all__ = ["FAULTS", "PEERS", "Engine", "Outcome", "Result", "all_cores", "run_job", "run_tasks"]

PEERS = ("crayon", "tokenizers", "tiktoken", "gigatoken", "fastokens", "tokie")
"""The engines that the benchmark compares by default. Parity reports also time engines that open a single format."""

Result = dict[str, Any]
"""A task's ``name``, ``status`` and ``seconds``, its message (``says``), and its findings.

The status is ok, failed, crashed, hung, skipped (impossible here) or not run (for lack of time)."""
FAULTS = ("failed", "crashed", "hung")
MOST_ENDINGS = 12
"""After this number of processes that crashed, hung or lost the device, the remaining tasks are abandoned."""
CHILD = Path(__file__).parent / "child"
OPENING_LIMIT = 120.0
"""The most seconds for opening a vocabulary."""


def run_tasks(
    command: Sequence[str],
    job: dict[str, Any],
    tasks: Sequence[Task],
    on_result: Callable[[Result], object] = lambda result: None,
    *,
    environment: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    on_start: Callable[[int], object] = lambda pid: None,
) -> dict[str, Result]:
    """Do tasks in processes of `command`, which run `child.serve.serve`, and return the results by the tasks' names.

    `on_result` gets each result as it arrives, and `on_start` the id of each process. No task begins after
    ``job["seconds"]``. Opening may take ``job["limit"]`` seconds. `log` gets the output of the processes.
    """
    results: dict[str, Result] = {}

    def add(result: Result) -> None:
        results[result["name"]] = result
        on_result(result)

    until = time.monotonic() + job["seconds"]
    left, endings = list(tasks), 0
    while left or OPENING not in results:
        seconds = until - time.monotonic()
        why_not = "" if seconds > 0 else "no time was left"
        if endings >= MOST_ENDINGS:
            why_not = f"{endings} processes had crashed, hung, or lost the device"
        if results.get(OPENING, {}).get("status", "ok") != "ok":
            why_not = "opening failed"
        if why_not:
            for task in left:
                add({"name": task["name"], "status": "not run", "says": why_not})
            break
        with Child(command, environment or {}, log) as child:
            on_start(child.process.pid)
            endings += _follow(child, {**job, "tasks": left, "seconds": seconds}, add)
        left = [task for task in left if task["name"] not in results]
    return results


def _follow(child: Child, job: dict[str, Any], add: Callable[[Result], object]) -> bool:
    """Follow a process until it ends. Return whether it ended with a fault, or before all tasks were done."""
    begun = OPENING
    noted: dict[str, Any] = {}
    limits = {OPENING: job["limit"], **{task["name"]: task["limit"] for task in job["tasks"]}}
    left = {task["name"] for task in job["tasks"]}
    child.send(json.dumps(job).encode() + b"\n")
    for line in child.answers:
        event: dict[str, Any] = json.loads(line)
        if "begun" in event:
            begun, noted = event["begun"], {}
        elif "done" in event:
            begun = ""
            left.discard(event["done"])
            add({"name": event.pop("done"), **event})
        else:
            noted = event
    ending = child.ending()
    if ending.code == 0 and not begun:
        return bool(left)
    over = ending.is_over and begun in limits
    result = {"name": begun or ("a process between two tasks" if left else "the end of a process")}
    says = f"over {limits[begun]:g} s" if over else f"the process {ending}"[:300]
    add({**result, "status": "hung" if over else "crashed", "says": says, **noted})
    return True


@dataclass(frozen=True)
class Engine:
    """An engine to measure: its name and origin."""

    name: str
    python: str = ""
    """The interpreter of the environment that has the engine. If empty, this process's own."""
    stand_in: str = ""
    """``module:function`` that replaces the engine."""


@dataclass
class Outcome:
    """The results of a job: that of opening the vocabulary, and those of the steps, by name."""

    opened: Result = field(default_factory=dict)
    steps: dict[str, Result] = field(default_factory=dict)
    cannot_open: str = ""
    missing: bool = False
    """Whether the package is not installed."""


def all_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def run_job(
    engine: Engine,
    files: dict[str, Any] | None,
    steps: Sequence[Task],
    threads: int,
    *,
    more: Sequence[Path] = (),
    on_start: Callable[[int], object] = lambda pid: None,
) -> Outcome:
    """Do the steps with an engine in a fresh process. If a step crashes or takes too long, continue in another process.

    `files` is the result of `.vocabularies.prepare`; if it is None, the steps open the files that they need. The
    folders `more` have modules for kinds of steps that this package lacks.
    """
    command = command_by_path([CHILD, *more], "tasks", python=engine.python)
    environment = {
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "PYTHONWARNINGS": "ignore",
    }
    job = {
        "engine": engine.name,
        "files": None if files is None else {**files, "stand_in": engine.stand_in},
        "threads": threads,
        "cpus": all_cores()[-threads:],  # the first core does more of the system's own work
        "limit": OPENING_LIMIT,
        "seconds": 1e9,
        "command": command,
    }
    results = run_tasks(command, job, steps, environment=environment, on_start=on_start)
    opened = results.pop(OPENING)
    if opened["status"] == "ok":
        return Outcome(opened, results)
    why = f"opening took {opened['says']}" if opened["status"] == "hung" else opened["says"]
    missing = opened.get("missing", False)
    return Outcome(cannot_open=f"not installed ({why})" if missing else why, missing=missing)

"""Tasks in child processes, watched: a crash and a hang are results, and the next process goes on behind them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crayon_hf.parity.compare.children import child_command

from .access import Job
from .child import OPENING

Result = dict[str, Any]
"""A task's ``name``, ``status`` and ``seconds``, what it ``says``, and what it has found.

The status is ok, failed, crashed, hung, skipped (it cannot be done here) or not run (for lack of time)."""

MOST_ENDINGS = 12
"""After so many processes that crashed, hung or lost the device, a step is given up."""
FAULTS = ("failed", "crashed", "hung")
_OPENING_SECONDS = 60.0
"""A driver may compile for a new device."""


def run_tasks(job: Job, log: Path, on_result: Callable[[Result], None], prefix: Sequence[str] = ()) -> list[Result]:
    """Do the tasks of a job; `on_result` gets each as it comes. `prefix`: a command that runs another one."""
    results: dict[str, Result] = {}

    def add(result: Result) -> None:
        results[result["name"]] = result
        on_result(result)

    ending = time.monotonic() + job.seconds
    endings = 0
    left = job.tasks
    while left:
        seconds = ending - time.monotonic()
        why_not = "no time was left" if seconds <= 0 else ""
        if endings >= MOST_ENDINGS:
            why_not = f"{endings} processes had crashed, hung, or lost the device"
        if OPENING in results:
            why_not = "the device could not be opened"
        if why_not:
            for name in left:
                add({"name": name, "status": "not run", "says": why_not})
            break
        endings += _one_process(replace(job, tasks=left, seconds=seconds), log, add, prefix)
        left = tuple(name for name in left if name not in results)
    return list(results.values())


def _one_process(job: Job, log: Path, add: Callable[[Result], None], prefix: Sequence[str]) -> int:
    """One process, until it ends; 1 when that was before all tasks were done."""
    events = Path(job.events)
    events.write_bytes(b"")
    with open(log, "ab") as noise:
        noise.write(f"-- {job.step}, from {job.tasks[0]}\n".encode())
        noise.flush()
        start = noise.tell()
        child = subprocess.Popen(
            [*prefix, *child_command("parity.gpu.child")],
            stdin=subprocess.PIPE,
            stdout=noise,
            stderr=noise,
            env={**os.environ, "PYTHONWARNINGS": "ignore", "TOKENIZERS_PARALLELISM": "false"},
        )
        try:
            assert child.stdin is not None
            try:
                child.stdin.write(json.dumps(job.to_json()).encode())
                child.stdin.close()
            except BrokenPipeError:  # it has ended: its status says how
                pass
            watched = _Watched(job)
            while True:
                has_ended = child.poll() is not None
                watched.read(events, add)
                if has_ended:
                    break
                if watched.is_hung():
                    child.kill()
                    child.wait()
                    watched.read(events, add)
                    watched.end("hung", f"it took over {watched.limit():.0f} s", add)
                    return 1
                time.sleep(0.02)
        finally:  # also when this process is interrupted
            if child.poll() is None:
                child.kill()
                child.wait()
    if child.returncode != 0 or watched.begun:
        watched.end("crashed", f"{_said(child.returncode)}: {_last_line(log, start)}", add)
        return 1
    return int(not watched.is_all)


class _Watched:
    """What the events of a process say."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.begun = ""
        self.batch = 0
        self.is_all = False
        self._at = 0
        self._done = 0
        self._since = time.monotonic()

    def read(self, events: Path, add: Callable[[Result], None]) -> None:
        with open(events, "rb") as file:
            file.seek(self._at)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            self._since = time.monotonic()
            event = json.loads(line)
            if "begun" in event:
                self.begun, self.batch = event["begun"], 0
            elif "done" in event:
                self.begun = ""
                self._done += 1
                add({"name": event.pop("done"), **event})
            elif "batch" in event:
                self.batch = event["batch"]
            else:
                self.begun = ""
        self.is_all = self._done >= len(self.job.tasks)

    def limit(self) -> float:
        return max(self.job.limit, _OPENING_SECONDS) if self.begun in ("", OPENING) else self.job.limit

    def is_hung(self) -> bool:
        return time.monotonic() - self._since > self.limit()

    def end(self, status: str, why: str, add: Callable[[Result], None]) -> None:
        """The process ended with the task that it had begun, or between two."""
        if self.begun or not self.is_all:
            name = self.begun or f"the process of step {self.job.step}"
            add({"name": name, "status": status, "says": why, "batch": self.batch})
        else:
            add({"name": f"the end of step {self.job.step}", "status": status, "says": why})
        self.begun = ""


def _said(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def _last_line(log: Path, start: int) -> str:
    """What the process said last; of a fault that Python saw, where that was."""
    with open(log, "rb") as file:
        file.seek(start)
        lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = next((i for i, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if fatal is None:
        return lines[-1].strip()[:300] if lines else "it said nothing"
    where = next((line.strip() for line in lines[fatal:] if line.startswith("  File ")), "")
    return f"{lines[fatal]} {where}"[:300]

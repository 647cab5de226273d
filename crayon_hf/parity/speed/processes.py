"""A fresh process for a job: which interpreter, which cores, how many threads, and what came of each step."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..compare.children import Ending, command_by_path, last_line
from .child.engines import ENGINES

__all__ = ["PEERS", "Engine", "Outcome", "all_cores", "run_job"]

PEERS = tuple(name for name in ENGINES if name not in ("prerelease", "transformers", "sentencepiece", "xerv", "vocab"))
"""Those that open every vocabulary of the tables; reports time the others, which open what they are for."""


@dataclass(frozen=True)
class Engine:
    """A contestant: its name, and where it comes from."""

    name: str
    python: str = ""
    """Another interpreter, of an environment of its own."""
    stand_in: str = ""
    """``module:function`` in its place."""

    def command(self) -> list[str]:
        """The command of its measuring processes."""
        return command_by_path(Path(__file__).parent / "child", "tasks", python=self.python)


@dataclass
class Outcome:
    """What a job came to: the opening, and each step by name."""

    opened: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    cannot_open: str = ""
    missing: bool = False
    """The package is not installed."""


def all_cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def run_job(
    engine: Engine,
    files: dict[str, Any],
    steps: list[dict[str, Any]],
    threads: int,
    *,
    call: str = "best",
    limit: float = 120,
) -> Outcome:
    """Do the steps in a fresh process; behind a step that ended it (too long, or a crash), in another one."""
    outcome = Outcome()
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
    }
    # The last cores: the first one has more of what the system does besides.
    cpus = all_cores()[-threads:]
    left = list(steps)
    with TemporaryDirectory(prefix="crayon-bench-job-") as directory:
        results = os.path.join(directory, "results")
        while True:
            job = {
                "engine": engine.name,
                "files": {**files, "stand_in": engine.stand_in},
                "steps": left,
                "threads": threads,
                "cpus": cpus,
                "call": call,
                "results": results,
                "limit": limit,
                "command": engine.command(),
            }
            Path(results).write_text("", encoding="utf-8")
            done = subprocess.run(
                engine.command(),
                input=json.dumps(job),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=environment,
            )
            ended = _read(results, outcome)
            if outcome.cannot_open or (done.returncode == 0 and not ended):
                return outcome
            why = _why(done.returncode, done.stderr)
            if not outcome.opened:
                outcome.cannot_open = f"opening took over {limit:g} s" if why == "over" else why
                return outcome
            if ended:
                step = next(step for step in left if step["name"] == ended)
                outcome.steps[ended] = {"over": step["limit"]} if why == "over" else {"failed": why}
            left = [step for step in left if step["name"] not in outcome.steps]
            if not ended or not left:
                return outcome


def _read(results: str, outcome: Outcome) -> str:
    """Take in the results; returns the step that began and did not end."""
    begun = ""
    for line in Path(results).read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        if "cannot_open" in result:
            outcome.cannot_open, outcome.missing = result["cannot_open"], result["missing"]
        elif "open_ms" in result:
            outcome.opened = result
        elif "begun" in result:
            begun = result["begun"]
        else:
            outcome.steps[result.pop("done")] = result
            begun = ""
    return begun


def _why(code: int, stderr: str) -> str:
    if code == -14:  # SIGALRM
        return "over"
    return f"the process {Ending(code, last_line(stderr))}"[:300]

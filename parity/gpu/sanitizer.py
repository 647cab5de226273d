"""The step "sanitizer": compute-sanitizer on a small run of ids, in processes of its own."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crayon_hf.parity.speed.processes import FAULTS, Result

from .cases import Case, plan
from .sizes import Sizes

PROGRAM = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SIZES = Sizes(100, 20, text=30_000, texts=300, short_run=130, runs=(3000,), repeats=2, batch=30_000, speed=(),
              round_seconds=0)  # fmt: skip
"""Small sizes, since a sanitizer slows the run down about a hundred times."""
KINDS = ("generated strings", "runs", "one text", "NFC", "added tokens", "short texts")
"""Kinds of cases that together launch every kernel."""
SLOWER = 3
"""The factor by which a task's time limit grows under the sanitizer."""
_FOUND = 86
"""The exit status that the sanitizer is told to give if it finds something."""

Do = Callable[[dict[str, Any], Sequence[str], Sequence[str]], list[Result]]


def why_not(device: str) -> str:
    """Return why the sanitizer cannot be used, or an empty text if it can be used."""
    if not device.startswith("cuda"):
        return f"{PROGRAM} is for CUDA, and the device is {device}"
    return "" if shutil.which(PROGRAM) else f"{PROGRAM} is not on PATH"


def run(job: dict[str, Any], do: Do, on_result: Callable[[Result], None]) -> None:
    """Run each of the sanitizer's tools over the same few cases. Call `on_result` with one result for each tool.

    A tool writes its output to ``sanitizer/TOOL.txt``.

    The function `do` is called with a job, the names of cases, and the command that runs the child.
    """
    directory = Path(job["output"]) / "sanitizer"
    directory.mkdir(exist_ok=True)
    turns: Counter[str] = Counter()

    def turn(case: Case) -> int:
        turns[case.kind] += 1
        return turns[case.kind]

    # One case of each kind first, since time is short for all.
    cases = [case.name for case in sorted(plan(SIZES, job["named"][:1]), key=turn) if case.kind in KINDS]
    left = job["seconds"]
    for number, tool in enumerate(TOOLS):
        text = directory / f"{tool}.txt"
        options = ("--target-processes", "all", "--error-exitcode", str(_FOUND), "--log-file", str(text))
        small = {**job, "sizes": asdict(SIZES), "seconds": left / (len(TOOLS) - number)}
        result = _result_of(tool, text, do(small, cases, [PROGRAM, "--tool", tool, *options]))
        left = max(0.0, left - result["seconds"])
        on_result(result)


def _result_of(tool: str, text: Path, inner: list[Result]) -> Result:
    """Combine the results of the cases and the tool's summary into one result."""
    said = text.read_text(encoding="utf-8", errors="replace") if text.exists() else ""
    summary = next((line for line in reversed(said.splitlines()) if "SUMMARY" in line), "")
    done = [each for each in inner if each["status"] not in ("not run", "skipped")]
    faults = [f"{each['name']}: {each.get('says', each['status'])}" for each in inner if each["status"] in FAULTS]
    says = summary.strip("= ") or f"{PROGRAM} gave no summary"
    says += f"; {len(done)} of {len(inner)} cases, for lack of time" if len(done) < len(inner) else ""
    status = "ok" if "ERROR SUMMARY: 0 errors" in summary or "0 hazards" in summary else "failed"
    if faults:
        status, says = "failed", "; ".join([says, *faults])[:300]
    elif not done:
        status, says = "not run", "no time was left"
    seconds = sum(each.get("seconds", 0.0) for each in inner)
    cases = {"cases": len(done), "of_cases": len(inner), "output": f"sanitizer/{text.name}"}
    return {"name": tool, "status": status, "seconds": seconds, "says": says, **cases}

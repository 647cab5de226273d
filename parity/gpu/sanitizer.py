"""The step "sanitizer": compute-sanitizer over a small run of ids, in processes of its own."""

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
"""A sanitizer takes some hundred times as long."""
KINDS = ("generated strings", "runs", "one text", "NFC", "added tokens", "short texts")
"""Of cases, those that between them launch every kernel."""
SLOWER = 3
"""A task may take so many times as long."""
_FOUND = 86
"""The exit status that says that it found something."""

Do = Callable[[dict[str, Any], Sequence[str], Sequence[str]], list[Result]]


def why_not(device: str) -> str:
    """Why it cannot be used; an empty string when it can."""
    if not device.startswith("cuda"):
        return f"{PROGRAM} is for CUDA, and the device is {device}"
    return "" if shutil.which(PROGRAM) else f"{PROGRAM} is not on PATH"


def run(job: dict[str, Any], do: Do, on_result: Callable[[Result], None]) -> None:
    """Each tool over the same few cases; what it says goes to ``sanitizer/TOOL.txt``. A result for each tool.

    `do` gets a job, the names of cases, and the command that runs another one.
    """
    directory = Path(job["output"]) / "sanitizer"
    directory.mkdir(exist_ok=True)
    turns: Counter[str] = Counter()

    def turn(case: Case) -> int:
        turns[case.kind] += 1
        return turns[case.kind]

    # One of each kind first: there is hardly time for all.
    cases = [case.name for case in sorted(plan(SIZES, job["named"][:1], False), key=turn) if case.kind in KINDS]
    left = job["seconds"]
    for number, tool in enumerate(TOOLS):
        text = directory / f"{tool}.txt"
        options = ("--target-processes", "all", "--error-exitcode", str(_FOUND), "--log-file", str(text))
        small = {**job, "sizes": asdict(SIZES), "source": "", "seconds": left / (len(TOOLS) - number)}
        result = _result_of(tool, text, do(small, cases, [PROGRAM, "--tool", tool, *options]))
        left = max(0.0, left - result["seconds"])
        on_result(result)


def _result_of(tool: str, text: Path, inner: list[Result]) -> Result:
    """One result of those of the cases, and of the tool's summary."""
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

"""The step "sanitizer": compute-sanitizer over a small run of ids, in processes of its own."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .access import Job
from .cases import Case, plan
from .sizes import Sizes
from .watching import FAULTS, Result, run_tasks

PROGRAM = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SIZES = Sizes(
    strings=100,
    few_strings=20,
    text=30_000,
    texts=300,
    short_run=130,
    runs=(3000,),
    repeats=2,
    batch=30_000,
    speed=(),
    round_seconds=0,
)
"""A sanitizer takes some hundred times as long."""
KINDS = ("generated strings", "runs", "one text", "NFC", "added tokens", "short texts")
"""Of cases, those that between them launch every kernel."""
_FOUND = 86
"""The exit status that says that it found something."""
_MOST_SAID = 300


def why_not(device: str, program: str | None = None) -> str:
    """Why it cannot be used; an empty string when it can."""
    if not device.startswith("cuda"):
        return f"{PROGRAM} is for CUDA, and the device is {device}"
    return "" if shutil.which(program or PROGRAM) else f"{PROGRAM} is not on PATH"


def run(job: Job, log: Path, on_result: Callable[[Result], None], program: str | None = None) -> list[Result]:
    """Each tool over the same few cases; what it says goes to ``sanitizer/TOOL.txt``. A result for each tool."""
    results: list[Result] = []
    directory = Path(job.output) / "sanitizer"
    directory.mkdir(exist_ok=True)
    turns: Counter[str] = Counter()

    def turn(case: Case) -> int:
        turns[case.kind] += 1
        return turns[case.kind]

    # One of each kind first: there is hardly time for all.
    cases = [case.name for case in sorted(plan(SIZES, job.named[:1], False), key=turn) if case.kind in KINDS]
    for number, tool in enumerate(TOOLS):
        text = directory / f"{tool}.txt"
        small = replace(
            job, tasks=tuple(cases), sizes=SIZES, seconds=job.seconds / (len(TOOLS) - number), limit=job.limit * 3
        )
        prefix = [
            *(program or PROGRAM, "--tool", tool, "--target-processes", "all", "--error-exitcode", str(_FOUND)),
            *("--log-file", str(text)),
        ]
        inner = run_tasks(small, log, lambda result: None, prefix)
        result = _result_of(tool, text, inner)
        job = replace(job, seconds=max(0.0, job.seconds - result["seconds"]))
        results.append(result)
        on_result(result)
    return results


def _result_of(tool: str, text: Path, inner: list[Result]) -> Result:
    """One result of those of the cases, and of the tool's summary."""
    said = text.read_text(encoding="utf-8", errors="replace") if text.exists() else ""
    summary = next((line for line in reversed(said.splitlines()) if "SUMMARY" in line), "")
    done = [each for each in inner if each["status"] not in ("not run", "skipped")]
    faults = [each for each in inner if each["status"] in FAULTS]
    result: Result = {
        "name": tool,
        "status": "ok",
        "seconds": sum(each.get("seconds", 0.0) for each in inner),
        "cases": len(done),
        "of_cases": len(inner),
        "output": f"sanitizer/{text.name}",
        "says": summary.strip("= ") or f"{PROGRAM} gave no summary",
    }
    if len(done) < len(inner):
        result["says"] += f"; {len(done)} of {len(inner)} cases, for lack of time"
    if faults:
        why = "; ".join(f"{each['name']}: {each.get('says', each['status'])}" for each in faults)
        result |= {"status": "failed", "says": f"{result['says']}; {why}"[:_MOST_SAID]}
    elif not done:
        result |= {"status": "not run", "says": "no time was left"}
    elif not summary or ("ERROR SUMMARY: 0 errors" not in summary and "0 hazards" not in summary):
        result["status"] = "failed"
    return result

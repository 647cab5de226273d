"""Fuzzes the engine and the Python edge: builds what is not built, goes on from the kept corpora, prints a table.

    python tests/fuzz/run.py [--seconds N] [--target NAME ...] [--jobs N] [--build-dir DIR] [--quick-build]
    python tests/fuzz/run.py --totals [--build-dir DIR]

Seconds are for each target. What is found on the way stays in DIR/corpora, and all seconds and executions add up in
DIR/totals.json. A crash, a hang or a difference is made smaller and kept in tests/fuzz/crashes, and the exit status is
1. The engine needs Clang with libFuzzer, the edge atheris and an installed crayon_hf; targets that cannot run are named
and left out, unless they were asked for by name.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:1] = [str(ROOT), str(ROOT / "tools")]

from tests.fuzz.build import build, compiler  # noqa: E402
from tests.fuzz.targets import HERE, Target, named  # noqa: E402

BUILD_DIR = ROOT / "build" / "fuzz"


@dataclass
class Result:
    """What a run of one target did."""

    title: str
    seconds: float = 0.0
    executions: int = 0
    coverage: int = 0
    corpus: int = 0
    crashes: int = 0
    failure: str = ""


def command_of(target: Target, programs: dict[str, Path]) -> list[str]:
    """What runs a target, before libFuzzer's arguments."""
    if target.kind == "engine":
        return [str(programs[target.name])]
    return [sys.executable, "-P", "-m", "tests.fuzz.edge.drive", target.name]


def environment() -> dict[str, str]:
    """Reports that end a process at the first fault, with the sources' root for the edge."""
    path = os.pathsep.join(entry for entry in (os.environ.get("PYTHONPATH", ""), str(ROOT)) if entry)
    return os.environ | {"PYTHONPATH": path, "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": "handle_abort=1"}


def fuzz(
    target: Target, command: list[str], directory: Path, crashes: Path, *, seconds: int = 0, runs: int = 0
) -> Result:
    """Runs a target for some seconds, or for the kept inputs and so many new ones, which are then the same every time.
    Its corpus grows in the directory; what fails is kept in `crashes`/KIND/NAME."""
    corpus = directory / "corpora" / target.kind / target.name
    artifacts = directory / "artifacts" / target.kind / target.name
    for folder in (corpus, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(artifacts.iterdir())
    folders = [str(corpus), *(str(folder) for folder in (target.corpus, target.crashes) if folder.exists())]
    options = [f"-max_len={target.max_len}", f"-timeout={target.timeout}"]
    options += ["-seed=1", f"-runs={runs + len(target.inputs()) + 1}"] if runs else [f"-max_total_time={seconds}"]
    options += ["-print_final_stats=1", "-rss_limit_mb=4096", f"-artifact_prefix={artifacts}/"]
    log = log_of(directory, target.title)
    began = time.monotonic()
    with log.open("wb") as file:
        code = subprocess.run(
            [*command, *options, *folders], stdout=file, stderr=file, env=environment(), cwd=ROOT, check=False
        ).returncode
    result = read_log(log.read_text(encoding="utf-8", errors="replace"))
    result.title = target.title
    result.seconds = time.monotonic() - began
    result.corpus = sum(1 for _ in corpus.iterdir())
    for found in sorted(set(artifacts.iterdir()) - before):
        if found.name.startswith(("crash-", "leak-", "timeout-", "oom-")):
            result.crashes += 1
            keep(target, command, found, directory, crashes)
    if code != 0:
        result.failure = f"exit status {code}: see {log}"
    return result


def log_of(directory: Path, title: str) -> Path:
    return directory / f"{title.replace('/', '-')}.log"


def tail(directory: Path, title: str) -> str:
    """The end of what a target said: the report of a fault, and the input in Base64."""
    return log_of(directory, title).read_text(encoding="utf-8", errors="replace")[-6000:]


def read_log(text: str) -> Result:
    """Executions and coverage, as libFuzzer reports them."""
    executed = re.findall(r"stat::number_of_executed_units:\s+(\d+)|^#(\d+)\s", text, re.MULTILINE)
    coverage = re.findall(r"\bcov: (\d+)", text)
    counts = [int(number) for pair in executed for number in pair if number]
    return Result("", executions=max(counts, default=0), coverage=int(coverage[-1]) if coverage else 0)


def keep(target: Target, command: list[str], found: Path, directory: Path, crashes: Path) -> Path:
    """Makes a failing input smaller and puts it among the crashes of its target."""
    data = found.read_bytes()
    if not found.name.startswith(("timeout-", "oom-")):
        data = smallest(data, [*command, f"-timeout={target.timeout}"], directory / f"smaller-{found.name}")
    folder = crashes / target.kind / target.name
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / hashlib.sha1(data).hexdigest()[:16]
    kept.write_bytes(data)
    return kept


def smallest(data: bytes, command: list[str], path: Path) -> bytes:
    """What libFuzzer makes of a failing input, in `path` meanwhile. It tries at random, and gives up at the first step
    that finds nothing: so it begins again until three times in a row have changed nothing."""
    options = ["-minimize_crash=1", "-max_total_time=60", f"-exact_artifact_path={path}.new"]
    path.write_bytes(data)
    in_vain, ends = 0, time.monotonic() + 600
    while in_vain < 3 and len(data) > 1 and time.monotonic() < ends:
        subprocess.run(
            [*command, *options, str(path)], capture_output=True, env=environment(), cwd=ROOT, check=False, timeout=600
        )
        new = Path(f"{path}.new")
        smaller = new.read_bytes() if new.exists() else data
        new.unlink(missing_ok=True)
        if len(smaller) < len(data):
            data, in_vain = smaller, 0
            path.write_bytes(data)
        else:
            in_vain += 1
    return data


def add_totals(results: Sequence[Result], directory: Path) -> dict[str, dict[str, float]]:
    """All that was ever run with this build directory, by target."""
    path = directory / "totals.json"
    totals: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    for result in results:
        total = totals.setdefault(result.title, {"seconds": 0, "executions": 0, "crashes": 0})
        for key in ("seconds", "executions", "crashes"):
            total[key] += asdict(result)[key]
    if results:
        written = path.with_suffix(".new")  # a run that is ended here loses nothing
        written.write_text(json.dumps(totals, indent=1) + "\n")
        written.replace(path)
    return totals


def table(rows: Sequence[Sequence[object]], heads: Sequence[str]) -> str:
    """Columns of text; all but the first are numbers."""
    cells = [list(map(str, row)) for row in (heads, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]

    def line(row: list[str]) -> str:
        padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        return "  ".join([row[0].ljust(widths[0]), *padded[1:]])

    return "\n".join(map(line, cells))


def show(results: Sequence[Result]) -> str:
    rows: list[tuple[object, ...]] = []
    for r in results:
        rate = round(r.executions / max(r.seconds, 1e-3))
        rows.append((r.title, f"{r.seconds:.0f}", r.executions, rate, r.coverage, r.corpus, r.crashes))
    return table(rows, ("target", "seconds", "executions", "a second", "coverage", "corpus", "crashes"))


def show_totals(totals: dict[str, dict[str, float]]) -> str:
    rows = [(name, f"{t['seconds'] / 3600:.2f}", int(t["executions"]), int(t["crashes"])) for name, t in totals.items()]
    sums = [sum(t[key] for t in totals.values()) for key in ("seconds", "executions", "crashes")]
    rows.append(("all", f"{sums[0] / 3600:.2f}", int(sums[1]), int(sums[2])))
    return table(rows, ("target", "hours", "executions", "crashes"))


def runnable(targets: Sequence[Target]) -> tuple[list[Target], list[str]]:
    """The targets that can run here, and why others cannot."""
    missing = {}
    if any(t.kind == "engine" for t in targets) and compiler() is None:
        missing["engine"] = "Clang with libFuzzer is not installed (Debian and Ubuntu: clang)"
    if any(t.kind == "edge" for t in targets) and importlib.util.find_spec("atheris") is None:
        missing["edge"] = "atheris is not installed"
    reasons = [f"the targets of the {kind} do not run: {reason}" for kind, reason in missing.items()]
    return [t for t in targets if t.kind not in missing], reasons


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="for each target (600)")
    parser.add_argument("--target", nargs="+", default=[], help="their names; all without it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets, or compilers, at a time")
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR)
    parser.add_argument("--crashes", type=Path, default=HERE / "crashes", help="where to keep what fails")
    parser.add_argument("--quick-build", action="store_true", help="a build that takes less time")
    parser.add_argument("--totals", action="store_true", help="only print what was run so far")
    options = parser.parse_args(argv)
    directory = options.build_dir.resolve()
    if options.totals:
        print(show_totals(add_totals([], directory)))
        return 0
    wanted = named(options.target)
    targets, reasons = runnable(wanted)
    for reason in reasons:
        print(reason, file=sys.stderr)
    if not targets or (options.target and reasons):
        return 2
    directory.mkdir(parents=True, exist_ok=True)
    names = [target.name for target in targets if target.kind == "engine"]
    programs = build(names, directory, options.jobs, options.quick_build)

    def run(target: Target) -> Result:
        command = command_of(target, programs)
        return fuzz(target, command, directory, options.crashes.resolve(), seconds=options.seconds)

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, targets))
    add_totals(results, directory)
    print(show(results))
    for result in results:
        if result.failure:
            print(f"{result.title}: {result.failure}", file=sys.stderr)
    return 1 if any(result.failure for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())

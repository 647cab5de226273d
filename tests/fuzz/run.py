"""Fuzzes the engine and the Python edge: builds the targets, continues from the kept corpora, prints a table.

python tests/fuzz/run.py [--seconds N] [--target NAME ...] [--jobs N] [--build-dir DIR]

An engine target is ``engine/NAME.cpp`` with ``LLVMFuzzerTestOneInput``, an edge target a function that
``edge/drive.py`` lists. Seconds are for each target. New inputs stay in DIR/corpora. An input that crashes, hangs or
shows a difference is kept in ``crashes/KIND/NAME``, and the exit status is 1; ``-minimize_crash=1`` of the program
makes it smaller. The engine needs Clang with libFuzzer, the edge atheris and an installed crayon_hf.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:1] = [str(ROOT), str(ROOT / "tools")]

from crayon_hf.util.markdown import table  # noqa: E402
from tests.fuzz.build import build  # noqa: E402
from tests.fuzz.edge import drive  # noqa: E402

HERE = Path(__file__).resolve().parent
BUILD_DIR = ROOT / "build" / "fuzz"
MOST_BYTES = {
    "cartridge": 65536,
    "compiler": 16384,
    "columns": 2048,
    "decode": 1024,
    "parsers": 2048,
    "read_tekken": 40000,
}
"""The size in bytes of the largest input of a target, for targets with another limit than libFuzzer's."""


@dataclass(frozen=True)
class Target:
    """One fuzz target: a program of the engine, or a Python function."""

    kind: str
    name: str

    @property
    def title(self) -> str:
        return f"{self.kind}/{self.name}"

    def inputs(self) -> list[Path]:
        """The target's inputs in the repository: seeds, then inputs that failed once."""
        return [path for folder in ("corpus", "crashes") for path in sorted((HERE / folder / self.title).glob("*"))]


TARGETS = [Target("engine", path.stem) for path in sorted((HERE / "engine").glob("*.cpp")) if path.stem != "support"]
TARGETS += [Target("edge", name) for name in drive.NAMES]


@dataclass
class Result:
    """The result of fuzzing one target."""

    target: Target
    executions: int
    coverage: int
    failure: str


def fuzz(directory: Path, corpus: Path, target: Target, seconds: int = 0, runs: int = 0) -> Result:
    """Run a target for some seconds; or, with `runs`, on its inputs in the repository and that number of new inputs,
    which are the same each time. New inputs go to `corpus`."""
    found = HERE / "crashes" / target.title
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    program = [str(directory / target.name)]
    if target.kind == "edge":
        program = [sys.executable, "-P", "-m", "tests.fuzz.edge.drive", target.name]
    options = [f"-max_len={MOST_BYTES.get(target.name, 8192)}", "-timeout=60", "-rss_limit_mb=4096"]
    options += ["-seed=1", f"-runs={runs + len(target.inputs()) + 1}"] if runs else [f"-max_total_time={seconds}"]
    options += ["-print_final_stats=1", f"-artifact_prefix={found}/"]
    folders = [corpus, HERE / "corpus" / target.title, HERE / "crashes" / target.title]
    path = os.pathsep.join(entry for entry in (os.environ.get("PYTHONPATH", ""), str(ROOT)) if entry)
    environment = os.environ | {"PYTHONPATH": path, "UBSAN_OPTIONS": "print_stacktrace=1"}
    environment["ASAN_OPTIONS"] = "handle_abort=1"
    command = [*program, *options, *(str(folder) for folder in folders if folder.exists())]
    done = subprocess.run(command, capture_output=True, env=environment, cwd=ROOT, check=False)
    said = done.stderr.decode(errors="replace")
    executed = re.findall(r"stat::number_of_executed_units:\s+(\d+)", said)
    coverage = re.findall(r"\bcov: (\d+)", said)
    failure = f"exit status {done.returncode}\n{said[-6000:]}" if done.returncode else ""
    return Result(target, int(executed[-1]) if executed else 0, int(coverage[-1]) if coverage else 0, failure)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="for each target (600)")
    parser.add_argument("--target", nargs="+", default=[], help="names, or engine or edge; all without it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets, or compilers, at a time")
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR)
    options = parser.parse_args(argv)
    targets = [each for each in TARGETS if not options.target or {each.name, each.kind} & set(options.target)]
    directory = options.build_dir.resolve()
    build([target.name for target in targets if target.kind == "engine"], directory, options.jobs)
    with ThreadPoolExecutor(options.jobs) as pool:
        work = [pool.submit(fuzz, directory, directory / "corpora" / t.title, t, options.seconds) for t in targets]
        results = [each.result() for each in work]
    rows = [(r.target.title, str(r.executions), str(r.coverage)) for r in results]
    print(table(("target", "executions", "coverage"), rows, numbers=2))
    failed = [result for result in results if result.failure]
    for result in failed:
        print(f"{result.target.title}: {result.failure}", file=sys.stderr)
    return 1 if failed or not targets else 0


if __name__ == "__main__":
    sys.exit(main())

"""Hours of mixed work in one process, with every id compared: ``python tests/soak/run.py --minutes 60``.

The process opens, swaps, encodes, decodes, trains, forks, pickles, cancels and refuses. Its threads and vocabularies
come and go. At the end it prints a table of operations, and the growth of memory, descriptors, threads, children and
maps. The exit status is 0 only without any difference, unexpected error or growth. A seed decides everything except the
interaction of threads.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import logging
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

if __name__ == "__main__":  # as a script: prefer an installed package to the one beside the tests
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from crayon_hf.util.markdown import table
from tests.soak.operations import ANYWHERE, MAIN_THREAD, Operation
from tests.soak.world import Difference, Run, World

THREADS = 3
IN_A_ROUND = 12
"""How many operations each thread runs in a round. The threads end with the round."""
SLACK = {"anonymous": 16 << 20, "descriptors": 4, "threads": 1, "children": 1, "maps": 100}
"""The allowed growth of each measure's median from the second to the last quarter of a run. Allocators keep some
memory, and some allocations come late.

A leak of a kilobyte per operation in an hour, some hundred thousand operations, is several times that.
"""
ENVIRONMENT = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": str(128 << 10)}
"""Environment variables with which malloc keeps little freed memory.

By default it has eight arenas for each core and keeps up to 64 MiB at the end of each. A process whose threads come and
go then grows for hours, until each arena has had its largest work.
"""
COLUMNS = ("times", "comparisons", "expected errors", "unexpected errors", "differences")


def sample() -> dict[str, int]:
    """Measure the process after it has released its caches.

    Memory excludes file pages: how many pages of libraries and cartridges are private depends on other processes.
    `maps` counts mapped files.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    anonymous = Path("/proc/self/smaps_rollup").read_text().partition("\nAnonymous:")[2].split()[0]
    return {
        "anonymous": int(anonymous) << 10,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "children": len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
        "maps": Path("/proc/self/maps").read_text().count("\n"),
    }


def growth(samples: list[dict[str, int]]) -> dict[str, int]:
    """For each measure, the median of the samples' last quarter minus that of the second quarter. The first quarter is
    for warming up."""
    quarter = len(samples) // 4
    if not quarter:
        return {}
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    return {
        name: int(statistics.median(s[name] for s in last) - statistics.median(s[name] for s in second))
        for name in SLACK
    }


class Soak:
    """Runs rounds of operations, and counts them and their failures."""

    def __init__(self, home: Path, seed: int) -> None:
        self.seed, self.world = seed, World(home, seed)
        self.rows: dict[str, Counter[str]] = {}
        self.faults: list[str] = []
        self._lock = threading.Lock()

    def do(self, operation: Operation, rng: random.Random) -> None:
        """Run one operation, and count it and its failure, if any."""
        run, failure = Run(self.world, rng), ""
        try:
            operation(run)
        except Exception as raised:
            failure = "differences" if isinstance(raised, Difference) else "unexpected errors"
            self.faults.append(f"{operation.__name__}: {''.join(traceback.format_exception(raised))}")
        with self._lock:
            row = self.rows.setdefault(operation.__name__, Counter())
            row.update({"times": 1, "comparisons": run.comparisons, "expected errors": run.expected_errors})
            row[failure] += 1

    def warm_up(self) -> None:
        """Run every operation once in this thread, to finish late imports.

        An interrupt in the middle of an import can leave Python's import lock taken forever (CPython's
        ``_get_module_lock`` takes it before its ``try``).
        """
        for operation in ANYWHERE:
            self.do(operation, random.Random(f"{self.seed} {operation.__name__}"))

    def one_round(self, number: int, together: int = IN_A_ROUND) -> None:
        """Run `together` operations in each of several new threads, and in the main thread."""

        def work(name: object, operations: dict[Operation, int]) -> None:
            rng = random.Random(f"{self.seed} {number} {name}")
            for _ in range(together):
                self.do(rng.choices(list(operations), list(operations.values()))[0], rng)

        threads = [threading.Thread(target=work, args=(name, ANYWHERE)) for name in range(THREADS)]
        for thread in threads:
            thread.start()
        work("main", ANYWHERE | MAIN_THREAD)
        for thread in threads:
            thread.join()

    def go(self, minutes: float) -> list[dict[str, int]]:
        """Run rounds for some minutes. Returns a sample of the process after each round."""
        samples: list[dict[str, int]] = []
        begun = time.monotonic()
        try:
            self.warm_up()
            while time.monotonic() - begun < 60 * minutes:
                self.one_round(len(samples))
                self.world.renew_if_ready()
                samples.append(sample())
        finally:
            self.world.stop()
        return samples

    def as_text(self) -> str:
        rows = [(name, *(f"{row[column]:,}" for column in COLUMNS)) for name, row in sorted(self.rows.items())]
        return "\n".join([table(("operation", *COLUMNS), rows, numbers=len(COLUMNS)), *self.faults[:20]])


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    given = parser.parse_args()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # A shell starts background processes with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="crayon-soak-", ignore_cleanup_errors=True) as home:
        soak = Soak(Path(home), given.seed)
        samples = soak.go(given.minutes)
    grown = growth(samples)
    # A run of less than five minutes only warms up.
    too_much = [name for name, by in grown.items() if by > SLACK[name] and given.minutes >= 5]
    print(soak.as_text(), f"growth: {grown}", f"too much: {too_much}", sep="\n\n", flush=True)
    if given.json is not None:
        facts = {
            "seed": given.seed,
            "operations": soak.rows,
            "faults": soak.faults,
            "growth": grown,
            "samples": samples,
        }
        given.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 1 if soak.faults or too_much else 0


if __name__ == "__main__":
    if ENVIRONMENT.items() - os.environ.items():  # malloc reads it when a process starts
        os.execve(sys.executable, sys.orig_argv, {"HF_HUB_OFFLINE": "1", **os.environ, **ENVIRONMENT})
    sys.exit(main())

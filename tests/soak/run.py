"""Hours of mixed work in one process, every id compared: ``python tests/soak/run.py --minutes 60``.

The process opens, swaps, encodes, decodes, trains, forks, pickles, cancels and refuses, in several threads that come
and go, on vocabularies that come and go. What it should give was made by the reference in other processes
(`tests.soak.material`). At the end it prints a table of operations, errors and differences, and how memory,
descriptors, threads, children and maps have grown. The exit status is 0 only when there was no difference and no
unexpected error, and nothing grew.

A seed decides everything but what threads do to each other.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script: the package that is installed first, then what stands beside the tests
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.soak import flatness
from tests.soak.operations import cancelling, encoding, opening, processes, refusing, swapping, training
from tests.soak.table import Count, Table
from tests.soak.world import Run, World

Operation = Callable[[Run], None]

ANYWHERE: dict[Operation, int] = {
    opening.open_source: 8,
    opening.open_buffer: 3,
    opening.open_cartridge: 8,
    opening.open_engine: 8,
    opening.open_memory: 3,
    opening.open_profile: 8,
    opening.empty_cache: 1,
    swapping.replace_cartridge: 2,
    swapping.swap_profiles: 3,
    swapping.change_copy: 4,
    encoding.encode: 20,
    encoding.encode_batch: 20,
    encoding.encode_ragged: 20,
    encoding.count_tokens: 10,
    encoding.encode_spans: 10,
    encoding.encode_file: 10,
    encoding.encode_async: 5,
    encoding.encode_pipeline: 5,
    encoding.encode_tiktoken: 10,
    encoding.decode: 20,
    encoding.decode_stream: 5,
    training.train: 3,
    training.stop_training: 2,
    processes.copy_it: 10,
    processes.fork: 4,
    cancelling.leave_file: 5,
    cancelling.failing_source: 3,
    refusing.bad_text: 8,
    refusing.unknown_ids: 8,
    refusing.damaged_cartridge: 4,
    refusing.damaged_source: 3,
}
"""How often each is drawn, one against the other."""
MAIN_THREAD: dict[Operation, int] = {cancelling.interrupt: 30, processes.spawn: 2, processes.kill: 2}
ALONE: dict[Operation, int] = {swapping.install: 1}
"""When nothing else runs, and where transformers is."""
THREADS = 3
IN_A_ROUND = 12
"""Operations of each thread. Threads end with a round."""


def do(operation: Operation, world: World, rng: random.Random, table: Table) -> None:
    """One operation, counted."""
    count, error = Count(), None
    try:
        count = run = Run(world, rng)
        operation(run)
    except Exception as raised:
        error = raised
    table.add(operation.__name__, count, error)


def draw(operations: dict[Operation, int], rng: random.Random) -> Operation:
    return rng.choices(list(operations), list(operations.values()))[0]


def one_round(world: World, seed: str, table: Table, together: int = IN_A_ROUND) -> None:
    """Some threads, and the main one."""

    def work(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        for _ in range(together):
            do(draw(ANYWHERE, rng), world, rng, table)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    rng = random.Random(f"{seed} main")
    everything = ANYWHERE | MAIN_THREAD
    for _ in range(together // 2):
        do(draw(everything, rng), world, rng, table)
    for thread in threads:
        thread.join()


def has_transformers() -> bool:
    try:
        import transformers  # noqa: F401
    except ImportError:
        return False
    return True


class Soak:
    """Rounds until the time is over."""

    def __init__(self, home: Path, seed: int, minutes: float, with_transformers: bool = True) -> None:
        self.seed, self.minutes = seed, minutes
        self.table, self.samples = Table(), list[flatness.Sample]()
        self.rounds = 0
        self.seconds = 0.0
        self.is_stopped = False
        self._alone = ALONE if with_transformers and has_transformers() else {}
        self._begun = time.monotonic()
        self.world = World(home, seed)

    def warm_up(self) -> None:
        """Everything once in this thread, which imports what is imported late. An interrupt in the middle of an import
        can leave Python's import lock taken for ever (CPython's ``_get_module_lock`` takes it before its ``try``)."""
        training.import_everything()
        for operation in [*ANYWHERE, *self._alone]:
            do(operation, self.world, random.Random(f"{self.seed} {operation.__name__}"), self.table)

    def go(self) -> None:
        try:
            self.warm_up()
            while time.monotonic() - self._begun < 60 * self.minutes and not self.is_stopped:
                one_round(self.world, f"{self.seed} {self.rounds}", self.table)
                self.rounds += 1
                if self._alone and self.rounds % 5 == 0:
                    rng = random.Random(f"{self.seed} {self.rounds} alone")
                    do(draw(self._alone, rng), self.world, rng, self.table)
                self.world.renew_if_ready()
                self.seconds = time.monotonic() - self._begun
                self.samples.append(flatness.sample(self.seconds))
        finally:
            self.world.stop()

    @property
    def what_grows(self) -> list[str]:
        """Of a run of five minutes or more: a shorter one is warming up."""
        return flatness.what_grows(self.samples) if self.seconds >= 300 else []

    @property
    def is_clean(self) -> bool:
        return self.table.is_clean and not self.what_grows and not self.is_stopped

    def as_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "rounds": self.rounds,
            "vocabularies": self.world.made,
            "python": platform.python_version(),
            "clean": self.is_clean,
            "operations": {name: dict(row) for name, row in sorted(self.table.rows.items())},
            "totals": self.table.totals(),
            "faults": self.table.faults,
            "growth": flatness.growth(self.samples),
            "what_grows": self.what_grows,
            "samples": [sample._asdict() for sample in self.samples],
        }

    def as_text(self) -> str:
        facts = self.as_json()
        lines = [
            f"{facts['seconds'] / 60:.1f} minutes, {self.rounds} rounds of {THREADS + 1} threads, "
            f"{facts['vocabularies']} vocabularies, seed {self.seed}",
            "",
            self.table.as_text(),
            "",
            "growth, the median of the last quarter less that of the second:",
            *(f"  {name}: {value:,}" for name, value in facts["growth"].items()),
        ]
        if self.samples:
            last = self.samples[-1]
            lines.append(
                f"at the end: {last.anonymous:,} bytes anonymous, {last.in_use:,} in use, "
                f"{last.descriptors} descriptors, {last.maps} maps"
            )
        lines += ["", *self.table.faults, *self.what_grows]
        return "\n".join([*lines, "clean" if self.is_clean else "NOT CLEAN"])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    given = parser.parse_args(arguments)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # A shell starts what is in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="crayon-soak-", ignore_cleanup_errors=True) as home:
        soak = Soak(Path(home), given.seed, given.minutes)
        signal.signal(signal.SIGTERM, lambda *_: setattr(soak, "is_stopped", True))
        soak.go()
        print(soak.as_text(), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(soak.as_json(), indent=1) + "\n", encoding="utf-8")
    return 0 if soak.is_clean else 1


if __name__ == "__main__":
    if flatness.ENVIRONMENT.items() - os.environ.items():  # which is read as a process starts
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, {"HF_HUB_OFFLINE": "1", **os.environ, **flatness.ENVIRONMENT})
    sys.exit(main())

"""Measure the processor time of two equivalent calls, in turn, and say under which conditions."""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from timeit import Timer
from typing import Any

from crayon_hf.parity.inputs.texts import shared_directory
from crayon_hf.parity.speed.machine import cpu_model

__all__ = ["Timed", "beside", "print_conditions", "vocabularies_of"]

UNIT_NS = 20_000_000
"""The nanoseconds in one unit of `_clock`. timeit repeats a quick call until a sample takes 0.2 units."""
LONG_NS = 200_000_000
"""A call that takes more nanoseconds than this is measured in fewer rounds."""


@dataclass(frozen=True)
class Timed:
    """The median times of a call of stock (the other library) and of ours.

    Times are nanoseconds of processor time, of all threads together.
    """

    stock: float
    ours: float

    @property
    def ratio(self) -> float:
        """Our time as a multiple of stock's."""
        return self.ours / self.stock


def beside(stock: Callable[[], Any], ours: Callable[[], Any], rounds: int) -> Timed:
    """Time the same call of the other library and of ours, in turn, after running each once."""
    gc.collect()
    stock()
    ours()
    timers = [Timer(call, "import gc; gc.enable()", _clock) for call in (stock, ours)]
    counts = [timer.autorange()[0] for timer in timers]
    is_slow = any(timer.timeit(1) * UNIT_NS > LONG_NS for timer in timers)
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(3 if is_slow else rounds):
        for timer, count, sample in zip(timers, counts, samples, strict=True):
            sample.append(timer.timeit(count) * UNIT_NS / count)
    return Timed(*map(statistics.median, samples))


def vocabularies_of(parser: argparse.ArgumentParser) -> Path:
    """Return the directory of the shared vocabularies. Without one, end the program with a message."""
    shared = shared_directory()
    if shared is None:
        parser.error("set CRAYON_SHARED to a directory that has vocabularies in vocab/")
    return shared / "vocab"


def print_conditions(*packages: str) -> None:
    """Print the processor, and the versions of Python and of packages."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"{cpu_model()}; Python {platform.python_version()}, {versions}\n")


def _clock() -> float:
    return time.process_time_ns() / UNIT_NS

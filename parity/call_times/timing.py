"""Measure the processor time of two equivalent calls, in turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from timeit import Timer
from typing import Any

__all__ = ["Timed", "beside"]

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


def _clock() -> float:
    return time.process_time_ns() / UNIT_NS

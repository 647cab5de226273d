"""Measure the processor time of two equivalent calls, in turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Timed", "beside"]

SAMPLE_NS = 4_000_000
"""The duration of a sample: a quick call is repeated to reach it."""
LONG_NS = 200_000_000
"""A call that takes longer than this has fewer rounds."""


@dataclass(frozen=True)
class Timed:
    """Nanoseconds of processor time of all threads for one call: medians."""

    stock: float
    ours: float

    @property
    def ratio(self) -> float:
        """Our time as a multiple of stock's."""
        return self.ours / self.stock


def beside(stock: Callable[[], Any], ours: Callable[[], Any], rounds: int) -> Timed:
    """Time both in turn, after warming up."""
    gc.collect()
    calls = stock, ours
    counts = [_count(call) for call in calls]
    slow = any(_once(call) > LONG_NS for call in calls)
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(3 if slow else rounds):
        for call, count, sample in zip(calls, counts, samples, strict=True):
            begin = time.process_time_ns()
            for _ in range(count):
                call()
            sample.append((time.process_time_ns() - begin) / count)
    return Timed(*map(statistics.median, samples))


def _once(call: Callable[[], Any]) -> int:
    begin = time.process_time_ns()
    call()
    return time.process_time_ns() - begin


def _count(call: Callable[[], Any]) -> int:
    """Return the number of calls in a sample. Finding it also warms up the call: the first run may take much longer."""
    call()
    count = 1
    while True:
        begin = time.process_time_ns()
        for _ in range(count):
            call()
        spent = time.process_time_ns() - begin
        if spent >= SAMPLE_NS:
            return count
        count = 5 * count if spent * 20 < SAMPLE_NS else max(count + 1, count * SAMPLE_NS // max(spent, 1))

"""Times and digests, for the steps of whole jobs.

This module imports only the standard library, so that all other imports of a process are the engine's.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["digest", "least", "timed", "timing"]


def digest(*parts: bytes) -> str:
    """Return a digest of an engine's output, given in parts."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()


@contextmanager
def timing(seconds: dict[str, float]) -> Iterator[None]:
    """Add the seconds of a ``with`` block to ``wall``, by the clock, and to ``cpu``, of all threads' processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    seconds["wall"] = seconds.get("wall", 0.0) + time.perf_counter() - wall
    seconds["cpu"] = seconds.get("cpu", 0.0) + time.process_time() - cpu


def timed(call: Callable[[], Any], count: int = 1, repeats: int = 1) -> dict[str, float]:
    """Return the seconds of `repeats` calls, divided by their number and by `count`, the pieces of work in a call."""
    seconds: dict[str, float] = {}
    with timing(seconds):
        for _ in range(repeats):
            call()
    return {clock: each / repeats / count for clock, each in seconds.items()}


def least(call: Callable[[], Any], count: int = 1, repeats: int = 1) -> dict[str, float]:
    """Return the least of three results of `timed`, each after a garbage collection."""
    found = []
    for _ in range(3):
        gc.collect()
        found.append(timed(call, count, repeats))
    return min(found, key=lambda each: each["wall"])

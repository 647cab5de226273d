"""Times and digests, for the steps of whole jobs.

It imports the standard library alone, so that all other imports of a process are the engine's.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

__all__ = ["digest", "least", "timed", "version_of"]

Seconds = tuple[float, float]
"""Wall-clock time, and processor time of all threads."""


def version_of(distribution: str) -> str:
    """Return the version of a distribution. Ours may run from its sources."""
    return str(import_module("crayon_hf").__version__) if distribution == "crayon-hf" else version(distribution)


def digest(*parts: bytes) -> str:
    """A digest of an engine's output."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def timed(call: Callable[[], Any], repeats: int = 1, is_collected: bool = True) -> Seconds:
    """Time one call, in seconds. Garbage is collected before, so the collector has little to do during the call."""
    if is_collected:
        gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - wall) / repeats, (time.process_time() - cpu) / repeats


def least(call: Callable[[], Any], repeats: int = 1, count: int = 1) -> dict[str, float]:
    """Return a cell without its digest: the least of three times of a call, divided by its `count` pieces of work."""
    wall, cpu = min(timed(call, repeats) for _ in range(3))
    return {"wall": wall / count, "cpu": cpu / count}

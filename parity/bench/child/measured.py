"""Times and digests, for the steps of whole jobs.

This module imports only the standard library, so that all other imports of a process are the engine's.
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
    """Return the version of a distribution. Ours can run uninstalled, from its sources, so its version is imported."""
    return str(import_module("crayon_hf").__version__) if distribution == "crayon-hf" else version(distribution)


def digest(*parts: bytes) -> str:
    """Return a digest of an engine's output, given in parts."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def timed(call: Callable[[], Any], repeats: int = 1, is_collected: bool = True) -> Seconds:
    """Return the mean seconds of one of `repeats` calls. Garbage is collected before them if `is_collected`."""
    if is_collected:
        gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - wall) / repeats, (time.process_time() - cpu) / repeats


def least(call: Callable[[], Any], repeats: int = 1, count: int = 1) -> dict[str, float]:
    """Return the wall-clock and processor time of the fastest of three measurements of a call.

    Both are divided by `count`, the number of pieces of work in the call.
    """
    wall, cpu = min(timed(call, repeats) for _ in range(3))
    return {"wall": wall / count, "cpu": cpu / count}

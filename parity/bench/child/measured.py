"""What the steps of whole jobs share: times and digests.

It has the standard library alone: what a script imports besides is the engine's.
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
"""By the clock, and of the processor in all threads."""


def version_of(distribution: str) -> str:
    """Its version; ours may run from its sources."""
    return str(import_module("crayon_hf").__version__) if distribution == "crayon-hf" else version(distribution)


def digest(*parts: bytes) -> str:
    """Of what an engine made."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def timed(call: Callable[[], Any], repeats: int = 1, is_collected: bool = True) -> Seconds:
    """Seconds of one call. What there is is collected before, so that the collector finds little to do in it."""
    if is_collected:
        gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - wall) / repeats, (time.process_time() - cpu) / repeats


def least(call: Callable[[], Any], repeats: int = 1, count: int = 1) -> dict[str, float]:
    """The least of three times of a call, for each of the `count` things that it does: a cell without its digest."""
    wall, cpu = min(timed(call, repeats) for _ in range(3))
    return {"wall": wall / count, "cpu": cpu / count}

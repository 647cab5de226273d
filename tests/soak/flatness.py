"""What a process holds, and whether that grows."""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MEMORY_SLACK = 16 << 20
"""Bytes by which the last quarter's median may be above the second quarter's: what allocators keep, and what turns up
late (the first time that a large vocabulary comes round). A leak of a kilobyte for each operation of an hour, some
hundred thousand, is several times that."""
COUNT_SLACK = {"descriptors": 4, "threads": 1, "children": 1, "maps": 100}


class Sample(NamedTuple):
    """At one moment, when nothing runs."""

    seconds: float
    private: int
    """Bytes that this process alone holds (USS)."""
    proportional: int
    """The same with its share of what several hold (PSS)."""
    descriptors: int
    threads: int
    children: int
    maps: int


def sample(seconds: float) -> Sample:
    """Measured after what can be given back was given back."""
    gc.collect()
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
    fields = {"Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        if name in fields:
            fields[name] = int(rest.split()[0]) << 10
    me = Path("/proc/self/task") / str(os.getpid())
    return Sample(
        seconds=round(seconds, 3),
        private=fields["Private_Clean"] + fields["Private_Dirty"],
        proportional=fields["Pss"],
        descriptors=len(os.listdir("/proc/self/fd")),
        threads=threading.active_count(),
        children=len((me / "children").read_text().split()),
        maps=Path("/proc/self/maps").read_text().count("\n"),
    )


def growth(samples: Sequence[Sample]) -> dict[str, int]:
    """For each measure the median of the last quarter less that of the second one, the first being for warming up."""
    quarter = len(samples) // 4
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    measures = ("private", "proportional", *COUNT_SLACK)
    if not quarter:
        return dict.fromkeys(measures, 0)
    return {
        name: int(
            statistics.median(getattr(s, name) for s in last) - statistics.median(getattr(s, name) for s in second)
        )
        for name in measures
    }


def what_grows(samples: Sequence[Sample]) -> list[str]:
    """Everything that is not flat, in words; nothing when all is well."""
    grown = growth(samples)
    limits = {"private": MEMORY_SLACK, "proportional": MEMORY_SLACK, **COUNT_SLACK}
    return [
        f"{name} grew by {grown[name]:,}, allowed are {limit:,}"
        for name, limit in limits.items()
        if grown[name] > limit
    ]

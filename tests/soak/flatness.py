"""What a process holds, and whether that grows."""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

MEMORY_SLACK = 16 << 20
"""Bytes by which the last quarter's median may be above the second quarter's: what allocators keep, and what turns up
late (the first time that a large vocabulary comes round). A leak of a kilobyte for each operation of an hour, some
hundred thousand, is several times that."""
MEMORY = ("anonymous", "in_use")
COUNT_SLACK = {"descriptors": 4, "threads": 1, "children": 1, "maps": 100}

ENVIRONMENT = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": str(128 << 10)}
"""Of a process whose memory is measured. Python takes its small objects from malloc, too, so that what is in use is all
there is. And malloc keeps little of what is freed: by itself it has eight arenas for each core, one for every thread at
the same time, and at the end of each it keeps up to 64 MiB, so much as it was taught by large blocks that were freed.
`malloc_trim` leaves those ends alone. A process whose threads come and go then grows for hours until each arena has had
its largest work, though nothing is in use there."""


def of_libc(name: str) -> Any:
    """A function of the C library; None where it has no such one."""
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None


class _Mallinfo2(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _in_use() -> int:
    mallinfo2 = of_libc("mallinfo2")
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = _Mallinfo2
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)


class Sample(NamedTuple):
    """At one moment, when nothing runs."""

    seconds: float
    anonymous: int
    """Bytes of memory that are no file's. The pages of libraries and cartridges are left out: how many of them are this
    process's own depends on what other processes there are. `maps` counts files that stay mapped."""
    in_use: int
    """Bytes that malloc gave out and did not get back: what grows with `anonymous` is leaked, what does not is free,
    and kept by malloc. 0 without glibc 2.33. Python's small objects are among them in the `ENVIRONMENT`."""
    descriptors: int
    threads: int
    children: int
    maps: int


def sample(seconds: float) -> Sample:
    """Measured after what can be given back was given back."""
    gc.collect()
    malloc_trim = of_libc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)
    anonymous = Path("/proc/self/smaps_rollup").read_text().partition("\nAnonymous:")[2].split()[0]
    me = Path("/proc/self/task") / str(os.getpid())
    return Sample(
        seconds=round(seconds, 3),
        anonymous=int(anonymous) << 10,
        in_use=_in_use(),
        descriptors=len(os.listdir("/proc/self/fd")),
        threads=threading.active_count(),
        children=len((me / "children").read_text().split()),
        maps=Path("/proc/self/maps").read_text().count("\n"),
    )


def growth(samples: Sequence[Sample]) -> dict[str, int]:
    """For each measure the median of the last quarter less that of the second one, the first being for warming up."""
    quarter = len(samples) // 4
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    measures = (*MEMORY, *COUNT_SLACK)
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
    limits = dict.fromkeys(MEMORY, MEMORY_SLACK) | COUNT_SLACK
    return [
        f"{name} grew by {grown[name]:,}, allowed are {limit:,}"
        for name, limit in limits.items()
        if grown[name] > limit
    ]

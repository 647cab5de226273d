"""The memory of this process, in MB (of 1,000,000 bytes)."""

from __future__ import annotations

import contextlib
import ctypes
import gc

__all__ = ["forget_peak", "give_back", "occupied", "peak"]


def occupied() -> dict[str, float] | None:
    """Return the resident memory, its private part, and the private part without clean file pages.

    Return None on systems other than Linux, which do not report these numbers.
    """
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as stream:
            pairs = [line.split() for line in stream][1:]
    except OSError:
        return None
    kilobytes = {words[0].rstrip(":"): int(words[1]) for words in pairs}
    dirty = kilobytes["Private_Dirty"]
    return {
        "resident": kilobytes["Rss"] * 1024 / 1e6,
        "private": (kilobytes["Private_Clean"] + dirty) * 1024 / 1e6,
        "dirty": dirty * 1024 / 1e6,
    }


def forget_peak() -> None:
    """Reset the system's record of the most memory, so that `peak` gives the most memory since this call."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
        stream.write("5")


def peak() -> float | None:
    """Return the most resident memory of this process, or None if the system does not report it."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as stream:
        return next((int(line.split()[1]) * 1024 / 1e6 for line in stream if line.startswith("VmHWM:")), None)
    return None


def give_back() -> None:
    """Return free memory to the system. This works with glibc only."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

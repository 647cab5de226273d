"""What this process occupies, in MB (of 1,000,000 bytes)."""

from __future__ import annotations

import contextlib
import ctypes
import gc

__all__ = ["forget_peak", "give_back", "occupied", "peak"]


def occupied() -> dict[str, float] | None:
    """Resident memory, what no other process shares of it, and what of that is not a clean page of a file.

    None where the system does not say.
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
    """From now on `peak` is that of what follows."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
        stream.write("5")


def peak() -> float | None:
    """The most resident memory of this process. None where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as stream:
        return next((int(line.split()[1]) * 1024 / 1e6 for line in stream if line.startswith("VmHWM:")), None)
    return None


def give_back() -> None:
    """What is free goes back to the system; with glibc only."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

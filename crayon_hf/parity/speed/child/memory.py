"""The memory of a process, in MB (of 1,000,000 bytes)."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import subprocess
import sys

__all__ = ["forget_peak", "give_back", "occupied", "peak", "sizes_of", "touch_free_pages"]


def sizes_of(pid: int | str = "self") -> dict[str, float]:
    """Return the sizes of a process's memory by the system's names, such as ``Pss``.

    Raise OSError if the process has ended, and on systems other than Linux, which do not report these sizes.
    """
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
        stream.readline()
        return {words[0].rstrip(":"): int(words[1]) * 1024 / 1e6 for words in map(str.split, stream)}


def occupied() -> dict[str, float]:
    """Return the resident memory, its private part, and the private part without clean file pages.

    Return nothing if the system does not report these sizes.
    """
    try:
        sizes = sizes_of()
    except OSError:
        return {}
    clean, dirty = sizes["Private_Clean"], sizes["Private_Dirty"]
    return {"resident": sizes["Rss"], "private": clean + dirty, "dirty": dirty}


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


_TOUCH = """
import mmap
with mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
    memory.madvise(mmap.MADV_HUGEPAGE)
    memory[:: mmap.PAGESIZE] = bytes(len(memory) // mmap.PAGESIZE)
"""


def touch_free_pages() -> None:
    """Have another process write to 256 MB of free memory, in large pages. This works on Linux only.

    The host of a virtual machine may take free pages back, within seconds. The first write to such a page then takes
    up to thirty times as long, which can be more than the first pass over a text.
    """
    if sys.platform == "linux":
        subprocess.run([sys.executable, "-ISc", _TOUCH], check=False, stderr=subprocess.DEVNULL)

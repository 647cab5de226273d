"""What this process occupies, in MB (of 1,000,000 bytes)."""

from __future__ import annotations

__all__ = ["occupied"]


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

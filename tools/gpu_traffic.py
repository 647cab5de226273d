"""Memory traffic of each step of the GPU kernels, in bytes for a byte of text: for tools/gpu_instructions.py.

A step's traffic is that of its arrays, each read or written once. It is a lower bound: repeated reads by neighbours,
and reads of the vocabulary's tables, count as cache hits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BITMAP = 1 / 8
"""The size of a bitmap, in bytes per byte of text."""
CHUNK = 1 / 64
"""The size of an array with one byte for each chunk of text, in bytes per byte of text. A chunk's planes have 64
bytes."""


@dataclass(frozen=True)
class Numbers:
    """The counts of a batch, divided by its bytes of text."""

    pretokens: float
    ids: float
    merged: float  # distinct pretokens that the device merged
    merged_bytes: float  # bytes of these

    @classmethod
    def of(cls, report: Mapping[str, int]) -> Numbers:
        """Return the counts of a `DeviceEncoder.report`."""
        names = ("pretokens", "ids", "merged_pretokens", "merged_bytes")
        return cls(*(report[name] / report["bytes"] for name in names))


def traffic(n: Numbers) -> dict[str, float]:
    """Return the bytes that each step reads and writes for a byte of text, by kernel. Arrays as in cpp/gpu/work.h."""
    return {
        "text from the host": 1,
        # Four bitmaps, two arrays of chunks, and the table of misses, which has a slot for two to four pretokens.
        "clearing": 4 * BITMAP + 2 * CHUNK + 1.5 * n.pretokens,
        "find_added": 1,
        "describe_chunks": 1 + 1 + BITMAP + 2 * CHUNK,  # text to planes
        "join_digits": CHUNK,
        "spread_digits": 2 * CHUNK,
        "boundaries": 1 + BITMAP + 2 * CHUNK + 2 * BITMAP,
        "join_added": BITMAP,
        "count_boundaries": BITMAP,
        "list_pretokens": BITMAP + 4 * n.pretokens,
        "look_up_words": 1 + BITMAP + 12 * n.pretokens + 8 * n.merged,
        "merge": 24 * n.merged + 5 * n.merged_bytes,
        "keep_merged": 56 * n.merged,
        "repeat_ids": 4 * n.pretokens,
        "count_ids": 4 * n.pretokens,
        "write_ids": 16 * n.pretokens + 8 * n.ids,
    }


def step_of(kernel: str) -> str:
    """Return the step of `traffic` that a kernel belongs to, or the kernel itself."""
    for step in ("boundaries", "merge"):
        if kernel.startswith(f"{step}_"):
            return step
    return kernel

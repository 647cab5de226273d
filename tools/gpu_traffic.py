"""The bytes of a GPU's memory that each step of the kernels moves, for a byte of text: for tools/gpu_instructions.py.

A step's traffic is that of its arrays, each read or written once: a lower bound, as if what neighbours read again were
in a cache, and with the vocabulary's tables in a cache, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BITMAP = 1 / 8
"""Bytes of a bitmap for a byte of text."""
CHUNK = 1 / 64
"""Bytes of what has one for each chunk; a chunk's planes have 64."""


@dataclass(frozen=True)
class Numbers:
    """Of a batch, for each byte of text."""

    pretokens: float
    ids: float
    merged: float  # pretokens that the device merged, each kind once
    merged_bytes: float  # of these

    @classmethod
    def of(cls, report: Mapping[str, int]) -> Numbers:
        """Of what `DeviceEncoder.report` says."""
        names = ("pretokens", "ids", "merged_pretokens", "merged_bytes")
        return cls(*(report[name] / report["bytes"] for name in names))


def traffic(n: Numbers) -> dict[str, float]:
    """Bytes that each step reads and writes, for a byte of text, by the name of its kernel. Arrays as in
    cpp/gpu/work.h."""
    return {
        "text from the host": 1,
        # Four bitmaps, two arrays of chunks, and the table of misses, which has a place for two to four pretokens.
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
    """The step of `traffic` that a kernel is part of; the kernel itself where it is of none."""
    for step in ("boundaries", "merge"):
        if kernel.startswith(f"{step}_"):
            return step
    return kernel

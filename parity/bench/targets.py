"""What is promised of each cell: our speed as a multiple of that of the best peer that gives the same ids."""

from __future__ import annotations

__all__ = ["HOSTILE_PROSE", "JOBS", "MEMORY_MB", "RATIOS", "SCENARIOS"]

SCENARIOS = (
    "first",
    "first-large",
    "repeated",
    "new-words",
    "long-document",
    "lines",
    "short",
    "decode",
    "open",
    "memory",
    "hostile",
    "lists",
)

JOBS = ("training", "corpora", "file", "process", "transformers", "server")
"""Measured by name alone: each is a job of its own."""

RATIOS = {
    "first": 3.0,
    "first-large": 3.0,
    "repeated": 1.5,
    "new-words": 5.0,
    "long-document": 3.0,
    "lines": 3.0,
    "short": 2.0,
    "decode": 3.0,
    "open": 1.0,
    "hostile": 1.0,
    "training": 6.0,
    "training, memory": 1.0,
    "corpora": 0.6,
    "process": 1.0,
    "transformers": 1.0,
    "server": 1.0,
}
"""``lists`` has none: most of that time is Python's. A corpus is beside `encode_ragged` over texts in memory."""

HOSTILE_PROSE = 10.0
"""Hostile text may take so many times as long, for each byte, as prose in the same process."""

MEMORY_MB = 8.0
"""Private memory of an open tokenizer."""

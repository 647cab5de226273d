"""The sizes of all inputs of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STAND_IN = "stand-in"
FULL_MINUTES = 10
STAND_IN_IS_SLOWER = 100
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Sizes:
    """The amounts of work in a run: numbers of texts, and sizes of texts in bytes."""

    strings: int
    """The number of generated strings."""
    few_strings: int
    """The number of generated strings for small partitions."""
    text: int
    """The bytes of the one large text."""
    texts: int
    """The number of short texts in one batch."""
    short_run: int
    """The repetitions in the longest run that crosses chunks."""
    runs: Sequence[int]
    """The bytes of the long runs of one kind of character, in ascending order."""
    repeats: int
    """How often the same batch is encoded, to find ids that change."""
    batch: int
    """The bytes of the batch that is encoded repeatedly, and of all threads' batches together."""
    speed: Sequence[int]
    """The bytes of the timed batches, in order of importance."""
    round_seconds: float
    """How many seconds one speed is measured, in repeated rounds."""


def sizes_for(minutes: float, is_stand_in: bool) -> Sizes:
    """Return full sizes for ten minutes or more, and smaller ones for less time or if the CPU runs the kernels."""
    share = min(1.0, minutes / FULL_MINUTES) / (STAND_IN_IS_SLOWER if is_stand_in else 1)

    def part(full: int, least: int) -> int:
        return max(least, int(full * share))

    most = part(16 * MIB, 8 * KIB)
    runs = [size for size in (8 * KIB, 64 * KIB, MIB) if size < most]
    largest = part(1 << 30, 32 * KIB)
    speed = [size for size in (16 * MIB, 64 * KIB, MIB, 128 * MIB) if size < largest]
    return Sizes(
        strings=part(20_000, 40),
        few_strings=part(200, 30),
        text=part(100_000_000, 30_000),
        texts=part(3_000_000, 500),
        short_run=1500 if share >= 0.001 else 130,
        runs=(*runs, most),
        repeats=part(50, 3),
        batch=part(8 * MIB, 20_000),
        speed=(*speed, largest),
        round_seconds=min(1.0, minutes / FULL_MINUTES),
    )

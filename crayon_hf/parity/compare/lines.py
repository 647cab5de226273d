"""Formats the result of a suite (one comparison of many inputs) as a line of a table on a terminal."""

from __future__ import annotations

__all__ = ["suite_line"]


def suite_line(name: str, inputs: int, differing: int, characters: int, seconds: float, failure: str = "") -> str:
    """Return one line: `name` (padded by the caller), the amount compared, the seconds and the outcome.

    >>> suite_line("strings", 1200, 0, 34567, 1.25)
    'strings     1,200 inputs    0.03 M characters     1.2 s  no difference'
    """
    says = "no difference"
    if failure:
        says = f"FAILED: {failure}"
    elif not inputs:
        says = "nothing to compare"
    elif differing:
        says = f"{differing:,} DIFFER"
    return f"{name} {inputs:9,} inputs {characters / 1e6:7.2f} M characters {seconds:7.1f} s  {says}"

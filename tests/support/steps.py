"""Counts of Python function calls: a measure of work that is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable


def steps_of(call: Callable[[], object]) -> int:
    """The number of calls and returns of functions, Python's and compiled ones, during a call in this thread."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return steps

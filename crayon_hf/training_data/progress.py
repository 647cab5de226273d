"""The progress of training: one line on standard error, on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from crayon_hf.util.progress import Line, is_watched, time_left

Report = Callable[[str, int, int], None]
"""Called some times in a second: the stage, how much of it is done, and how much there is (0: nobody knows)."""

_WIDTH = 30


class Bar:
    """A bar for each stage: the share that is done, the number, the time, and what is left of it.

    Where nobody watches a terminal or a notebook it is a line now and then.
    """

    def __init__(self) -> None:
        self._line = Line()
        self._stage = ""
        self._begun = time.monotonic()
        self._missing = 0
        """So many there are in a stage whose line does not show its end."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            if self._missing:  # a stage ends where the next one begins
                self._draw(self._missing, self._missing)
            if self._stage:
                self._begun = time.monotonic()
            self.end()
            self._stage = stage
        elif not self._line.is_due() and not 0 < total <= done:
            self._missing = total
            return
        self._draw(done, total)

    def _draw(self, done: int, total: int) -> None:
        self._missing = 0 if total <= done else total
        filled = _WIDTH * min(done, total) // total if total else 0
        share = f"[{'#' * filled:<{_WIDTH}}] {100 * min(done, total) // total:>3} %" if total else ""
        left = time_left(self._begun, done, total)
        self._line.write(f"{self._stage:<16} {share} {done:>15,} {time.monotonic() - self._begun:>7.1f} s{left}")

    def end(self) -> None:
        """Leave the line."""
        self._line.end()
        self._stage, self._missing = "", 0


def json_lines(stage: str, done: int, total: int) -> None:
    """What ``progress_format="json"`` of the reference's trainers writes."""
    sys.stderr.write(json.dumps({"stage": stage, "current": done, "total": total}, separators=(",", ":")) + "\n")


def reporter(show_progress: bool | Report) -> Report | None:
    """A bar where somebody sees it, a function as it is."""
    if callable(show_progress):
        return show_progress
    if not isinstance(show_progress, bool):
        raise TypeError(f"show_progress is {type(show_progress).__name__}, expected bool or a function")
    return Bar() if show_progress and is_watched(sys.stderr) else None


def reporter_of(trainer: Any) -> Report | None:
    """What a trainer of the reference is set to show; None is the default one."""
    if trainer is None:
        return reporter(True)
    if not trainer.show_progress or getattr(trainer, "progress_format", "") == "silent":
        return None
    return json_lines if getattr(trainer, "progress_format", "") == "json" else reporter(True)


def end(report: Report | None) -> None:
    """There is nothing more to report."""
    if isinstance(report, Bar):
        report.end()

"""How far the training is: one line on standard error, for whoever watches a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Report = Callable[[str, int, int], None]
"""Called some times in a second: the stage, how much of it is done, and how much there is (0: nobody knows)."""

_WIDTH = 30


class Bar:
    """A bar for each stage: the share that is done, the number, the time. No terminal gets a line now and then."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._every = 0.1 if self._is_terminal else 2.0
        self._stage = ""
        self._begun = self._shown = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self.end()
            self._stage, self._begun = stage, now
        elif now - self._shown < self._every and not 0 < total <= done:
            return
        self._shown = now
        filled = _WIDTH * min(done, total) // total if total else 0
        share = f"[{'#' * filled:<{_WIDTH}}] {100 * min(done, total) // total:>3} %" if total else ""
        line = f"{stage:<16} {share} {done:>15,} {now - self._begun:>7.1f} s"
        sys.stderr.write(f"\r{line}" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._stage and self._is_terminal:
            sys.stderr.write("\n")
            sys.stderr.flush()
        self._stage = ""


def json_lines(stage: str, done: int, total: int) -> None:
    """What ``progress_format="json"`` of the reference's trainers writes."""
    sys.stderr.write(json.dumps({"stage": stage, "current": done, "total": total}, separators=(",", ":")) + "\n")


def reporter(show_progress: bool | Report) -> Report | None:
    """A bar where somebody sees it, a function as it is."""
    if callable(show_progress):
        return show_progress
    if not isinstance(show_progress, bool):
        raise TypeError(f"show_progress is {type(show_progress).__name__}, expected bool or a function")
    return Bar() if show_progress and sys.stderr is not None and sys.stderr.isatty() else None


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

"""The progress of training: a bar for each stage, on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from crayon_hf.util.progress import Bar, is_watched

Report = Callable[[str, int, int], None]
"""Called some times in a second: the stage, how much of it is done, and how much there is (0: nobody knows)."""


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

"""Progress of training: a bar for each stage, on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from crayon_hf.util.progress import Bar, is_watched

Report = Callable[[str, int, int], None]
"""Called several times a second with (stage, done, total); total is 0 if unknown."""


def json_lines(stage: str, done: int, total: int) -> None:
    """Write a line of JSON to standard error, as trainers of ``tokenizers`` do with ``progress_format="json"``."""
    sys.stderr.write(json.dumps({"stage": stage, "current": done, "total": total}, separators=(",", ":")) + "\n")


def reporter(show_progress: bool | Report) -> Report | None:
    """Return the function that reports progress: the given one, or a bar for True on a terminal or in a notebook."""
    if callable(show_progress):
        return show_progress
    if not isinstance(show_progress, bool):
        raise TypeError(f"show_progress is {type(show_progress).__name__}, expected bool or a function")
    return Bar() if show_progress and is_watched(sys.stderr) else None


def reporter_of(trainer: Any) -> Report | None:
    """Return the reporter for the progress settings of a trainer of ``tokenizers``. None means the default settings."""
    if trainer is None:
        return reporter(True)
    if not trainer.show_progress or getattr(trainer, "progress_format", "") == "silent":
        return None
    return json_lines if getattr(trainer, "progress_format", "") == "json" else reporter(True)


def end(report: Report | None) -> None:
    """Close the bar, if the report is one."""
    if isinstance(report, Bar):
        report.end()

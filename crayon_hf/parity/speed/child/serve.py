"""The loop of a child process that does tasks, and reports the beginning and result of each task as a line of JSON.

A task that exceeds its limit ends the process, with a traceback of each thread on the standard error: native code
cannot be interrupted otherwise. The parent (`..processes.run_tasks`) sees which task was running, and starts another
process for the remaining tasks.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["OPENING", "SkippedError", "Task", "serve"]

OPENING = "opening"
"""The name of the step before the first task."""

Task = dict[str, Any]
"""A task's ``name``, its ``limit`` in seconds, and its parameters."""
Result = dict[str, Any]
Say = Callable[..., None]
Begin = Callable[[dict[str, Any], Say], tuple[Result, Callable[[Task], Result]]]


class SkippedError(Exception):
    """A task that this process cannot do. The text says why."""


def serve(begin: Begin) -> int:
    """Read a job from the standard input, and do its tasks.

    `begin` gets the job and a function that reports progress within a task. `begin` returns facts to report, and the
    function that does a task. A task that lost its GPU ends the process: the next task gets a new process.
    """
    faulthandler.enable()
    job: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output that libraries print is not an answer
    ending = time.monotonic() + job["seconds"]
    limit: float = job["limit"]

    def say(**event: Any) -> None:
        faulthandler.dump_traceback_later(limit, exit=True)
        answers.write(json.dumps(event) + "\n")
        answers.flush()

    def attempt(name: str, work: Callable[[], Result]) -> Result:
        say(begun=name)
        started = time.perf_counter()
        result: Result = {"status": "ok"}
        try:
            result |= work()
        except SkippedError as error:
            result = {"status": "skipped", "says": str(error)}
        except Exception as error:
            traceback.print_exc()
            lost = type(error).__name__ == "DeviceLostError"
            missing = isinstance(error, ImportError)
            result = {"status": "failed", "says": said(error), "is_lost": lost, "missing": missing}
        say(done=name, seconds=time.perf_counter() - started, **result)
        return result

    done: list[Callable[[Task], Result]] = []

    def opening() -> Result:
        facts, do = begin(job, say)
        done.append(do)
        return facts

    attempt(OPENING, opening)
    for task in job["tasks"] if done else ():
        if time.monotonic() > ending:
            say(done=task["name"], status="not run", says="no time was left")
            continue
        limit = task["limit"]
        if attempt(task["name"], lambda: done[0](task)).get("is_lost"):  # noqa: B023
            break
    faulthandler.cancel_dump_traceback_later()
    return 0


def said(error: Exception) -> str:
    """Return the error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]

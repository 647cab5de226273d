"""The process that uses the device: it does tasks in their order and writes down each beginning and end."""

from __future__ import annotations

import faulthandler
import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from crayon_hf.errors import DeviceLostError

from . import environment, ids, repeats, speed
from .access import Context, Job, Skipped

OPENING = "opening the device"
STEPS: dict[str, Callable[[str, Context], dict[str, Any]]] = {
    "environment": environment.run,
    "ids": ids.run,
    "repeats": repeats.run,
    "sanitizer": ids.run,
    "speed": speed.run,
}


def main() -> int:
    """Do a job, which standard input has. A device that is lost ends it: the next process gets another."""
    faulthandler.enable()
    job = Job.from_json(json.load(sys.stdin))
    ending = time.monotonic() + job.seconds
    with open(job.events, "a", encoding="utf-8") as events:

        def say(event: dict[str, Any]) -> None:
            events.write(json.dumps(event) + "\n")
            events.flush()
            # Where it hangs, should it do so: in the log, before the process is ended.
            faulthandler.dump_traceback_later(job.limit * 0.9)

        say({"begun": OPENING})
        try:
            context = Context(job, say)
        except Exception as error:
            traceback.print_exc()
            say({"done": OPENING, "status": "failed", "says": _line(error)})
            return 0
        say({"opened": job.device})
        for name in job.tasks:
            if time.monotonic() > ending:
                say({"done": name, "status": "not run", "says": "no time was left"})
                continue
            say({"begun": name})
            started = time.perf_counter()
            result: dict[str, Any] = {"done": name, "status": "ok"}
            is_lost = False
            try:
                result |= STEPS[job.step](name, context)
            except Skipped as skipped:
                result |= {"status": "skipped", "says": str(skipped)}
            except Exception as error:
                traceback.print_exc()
                result |= {"status": "failed", "says": _line(error)}
                is_lost = isinstance(error, DeviceLostError)
            is_lost |= result.pop("is_lost", False)
            say({**result, "seconds": time.perf_counter() - started})
            if is_lost:
                return 0
        faulthandler.cancel_dump_traceback_later()
    return 0


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]

"""Worker processes of a comparison: their events, and which input ended one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, replace

from .children import child_command
from .suites import Event, Suite, Work


@dataclass
class Ending:
    """How a worker ended: its code, and the last line that it printed."""

    code: int = 0
    last: str = ""


def events_of(work: Work, ending: Ending) -> Generator[Event, None, None]:
    """Run one worker and give its events as they come; `ending` is filled in when they have ended."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(work.threads), "TOKENIZERS_PARALLELISM": "true"}
    if work.cpu:
        environment["CRAYON_CPU"] = work.cpu
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as noise:
        worker = subprocess.Popen(
            child_command("crayon_hf.parity.compare.suites"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: its code says how
                worker.stdin.write(work.to_json())
                worker.stdin.close()
            for line in worker.stdout:
                yield json.loads(line)
            ending.code = worker.wait()
        finally:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
            worker.stdout.close()
        if ending.code != 0:
            noise.seek(0)
            ending.last = (noise.read().strip().splitlines() or ["no message"])[-1]


def culprit(work: Work, suite: Suite, first: int) -> tuple[str, str] | None:
    """Who ended a worker in the batch that begins with input `first`, and on which input (ASCII); None: nobody, now."""
    careful = replace(work, suites=(suite,), careful_from=first)
    ending, last = Ending(), None
    for event in events_of(careful, ending):
        if event["event"] == "trying":
            last = event["side"], event["input"]
    return last if ending.code != 0 else None

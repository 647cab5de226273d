"""Worker processes of a comparison: their events, and the input that ended one."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace

from .children import Child, Ending, child_command
from .suites import Event, Suite, Work

__all__ = ["culprit", "events_of"]


def events_of(work: Work, ending: Ending) -> Generator[Event, None, None]:
    """Run one worker and yield its events as they arrive; `ending` is filled in after the last one."""
    environment = {"RAYON_NUM_THREADS": str(work.threads), "TOKENIZERS_PARALLELISM": "true"}
    if work.cpu:
        environment["CRAYON_CPU"] = work.cpu
    with Child(child_command("crayon_hf.parity.compare.suites"), environment) as worker:
        worker.send(work.to_json().encode(), is_all=True)
        yield from map(json.loads, worker.answers)
        ended = worker.ending()
        ending.code, ending.last = ended.code, ended.last


def culprit(work: Work, suite: Suite, first: int) -> tuple[str, str] | None:
    """Return the side and input (ASCII) that end a worker in the batch from input `first` on, or None."""
    careful = replace(work, suites=(suite,), careful_from=first)
    ending, last = Ending(), None
    for event in events_of(careful, ending):
        if event["event"] == "trying":
            last = event["side"], event["input"]
    return last if ending.code != 0 else None

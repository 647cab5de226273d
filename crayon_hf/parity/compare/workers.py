"""Runs the worker processes of a comparison, yields their events, and finds the input that crashed one."""

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
    """Find the input that crashes a worker in the batch that begins with input number `first`.

    Return the crashing side and the input in ASCII, or None if no input crashes by itself.
    """
    careful = replace(work, suites=(suite,), careful_from=first)
    ending, last = Ending(), None
    for event in events_of(careful, ending):
        if event["event"] == "trying":
            last = event["side"], event["input"]
    return last if ending.code != 0 else None

"""Calls of an AutoTokenizer in this process: run by its path, with the job as JSON on the standard input.

Gives a figure and a digest of the answer for each kind of call; a figure is the least of some repeats.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import Any

SHORT_TEXT = "One short sentence, as a server gets it."
LENGTH = 512
PACKAGES = {"crayon": "crayon_hf", "transformers": "transformers"}


def plain(answer: Any) -> Any:
    """An answer of a tokenizer in a form that can be compared."""
    if isinstance(answer, (list, str)):
        return answer
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in answer.items()}


def calls(tokenizer: Any, batch: list[str]) -> dict[str, tuple[int, Callable[[], Any]]]:
    """How often each is repeated, and the call, by name."""
    sized = {"padding": True, "truncation": True, "max_length": LENGTH}
    ids = tokenizer(batch)["input_ids"]
    size = f"{len(batch):,} texts"
    return {
        "one short sentence": (500, lambda: tokenizer(SHORT_TEXT)),
        f"{size}, lists": (1, lambda: tokenizer(batch)),
        f"{size}, np": (1, lambda: tokenizer(batch, return_tensors="np", **sized)),
        f"{size}, pt": (1, lambda: tokenizer(batch, return_tensors="pt", **sized)),
        f"{size}, batch_decode": (1, lambda: tokenizer.batch_decode(ids)),
    }


def timed(call: Callable[[], Any], repeats: int, collected: bool = True) -> tuple[float, float]:
    """Seconds of one call, by the clock and of the processor.

    What there is is `collected` before, so that the collector, which both sides start alike, finds little to do.
    """
    if collected:
        gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - wall) / repeats, (time.process_time() - cpu) / repeats


def measured(job: dict[str, Any], auto: Any) -> dict[str, dict[str, Any]]:
    """The cells. Ours has compiled nothing before the first opening, as after an installation."""
    opened: list[Any] = []

    def open_it() -> None:
        opened.append(auto.from_pretrained(job["directory"], local_files_only=True))

    first_seconds, first_cpu = timed(open_it, 1, collected=False)  # as in a program, which does not do that
    tokenizer = opened.pop()
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.convert_ids_to_tokens(0)
    with open(job["batch"], encoding="utf-8") as stream:
        batch = json.load(stream)
    cells = {}
    for name, (repeats, call) in calls(tokenizer, batch).items():
        try:
            answer = plain(call())
        except ImportError:  # PyTorch is not installed
            continue
        digest = hashlib.blake2b(json.dumps(answer, sort_keys=True).encode(), digest_size=16).hexdigest()
        seconds, cpu = min(timed(call, repeats) for _ in range(3))
        cells[name] = {"seconds": seconds, "cpu": cpu, "digest": digest}
    cells["from_pretrained, first"] = {"seconds": first_seconds, "cpu": first_cpu, "digest": ""}
    seconds, cpu = timed(open_it, 1)
    cells["from_pretrained, again"] = {"seconds": seconds, "cpu": cpu, "digest": ""}
    return cells


if __name__ == "__main__":
    job = json.loads(sys.stdin.readline())
    os.sched_setaffinity(0, job["cores"])
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import_module("transformers").PreTrainedTokenizerFast  # noqa: B018 - imports what the first opening would
    auto = import_module(PACKAGES[job["engine"]]).AutoTokenizer
    versions = {"crayon": import_module("crayon_hf").__version__, "transformers": version("transformers")}
    with TemporaryDirectory() as cache:
        os.environ["CRAYON_CACHE_DIR"] = cache
        answer = {"version": versions[job["engine"]], "cells": measured(job, auto)}
    print(json.dumps(answer), flush=True)

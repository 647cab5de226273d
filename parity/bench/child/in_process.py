"""Calls as a program makes them that does other things as well: run by its path, with the job as JSON on the standard
input.

Gives a figure and a digest of the ids for each kind of call; a figure is the least of three.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

PASSES = 8
SMALL = 4096
LENGTH = 512
PACKAGES = {"crayon": "crayon_hf", "tokenizers": "tokenizers"}


@contextmanager
def busy_thread() -> Iterator[None]:
    """A thread of Python that computes, and gives the GIL away when it is asked alone."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            sum(range(500))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def digest_of(encodings: list[Any]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for encoding in encodings:
        found.update(repr(encoding.ids).encode())
    return found.hexdigest()


def calls(tokenizer: Any, text: str) -> dict[str, tuple[bool, int, Callable[[], list[Any]]]]:
    """By name: whether a thread is busy beside it, how often it is repeated, the call."""
    documents = [text[at : at + 2000] for at in range(0, len(text), 2000)]
    small, large = text[:SMALL], text

    def truncated() -> list[Any]:
        tokenizer.enable_truncation(LENGTH)
        try:
            return [tokenizer.encode(large)]
        finally:
            tokenizer.no_truncation()

    return {
        f"{PASSES} passes, encode_batch_fast": (
            False,
            1,
            lambda: [tokenizer.encode_batch_fast(documents) for _ in range(PASSES)][-1],
        ),
        "4 KB, encode, beside a busy thread": (True, 200, lambda: [tokenizer.encode(small)]),
        "encode_batch_fast, beside a busy thread": (True, 1, lambda: list(tokenizer.encode_batch_fast(documents))),
        "encode_batch, small texts and a large one": (
            False,
            1,
            lambda: list(tokenizer.encode_batch([*documents, large])),
        ),
        f"encode, truncated to {LENGTH}": (False, 1, truncated),
    }


def timed(call: Callable[[], Any], repeats: int, is_beside: bool) -> tuple[float, float]:
    """Seconds of one call, by the clock and of the processor; the busy thread's are not told apart."""
    if is_beside:
        with busy_thread():
            return timed(call, repeats, False)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - wall) / repeats, (time.process_time() - cpu) / repeats


if __name__ == "__main__":
    job = json.loads(sys.stdin.readline())
    os.sched_setaffinity(0, job["cores"])
    os.environ["RAYON_NUM_THREADS"] = str(len(job["cores"]))
    library = import_module(PACKAGES[job["engine"]])
    tokenizer = library.Tokenizer.from_file(job["tokenizer"])
    with open(job["file"], encoding="utf-8") as stream:
        text = stream.read()
    cells = {}
    for name, (is_beside, repeats, call) in calls(tokenizer, text).items():
        seconds, cpu = min(timed(call, repeats, is_beside) for _ in range(3))
        cells[name] = {"seconds": seconds, "cpu": cpu, "digest": digest_of(call())}
    print(json.dumps({"version": library.__version__, "cells": cells}), flush=True)

"""Calls as a program makes them that does other things as well: a figure and a digest of the ids for each kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

from .measured import digest, least

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


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """The cells; a figure is the least of three."""
    library = import_module(PACKAGES[job["engine"]])
    tokenizer = library.Tokenizer.from_file(step["tokenizer"])
    with open(step["file"], encoding="utf-8") as stream:
        text = stream.read()
    cells = {}
    for name, (is_beside, repeats, call) in calls(tokenizer, text).items():
        with busy_thread() if is_beside else nullcontext():  # whose time is not told apart
            figure = least(call, repeats)
        cells[name] = {**figure, "digest": digest(*(repr(encoding.ids).encode() for encoding in call()))}
    return {"version": library.__version__, "cells": cells}

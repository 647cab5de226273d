"""Measures a tokenizer in this process as a model server uses it.

The measurements, each with a digest of the results:

- prompts of some sizes
- many streams whose ids arrive in turn, a step each
- the time from the start of a process to the first token of its first answer
- the memory of many workers, which are processes that hold a used tokenizer

A time is the least of a few repeats.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from .measured import digest, least


class Server(NamedTuple):
    """The calls that a server makes to a tokenizer."""

    encode: Callable[[str], Any]
    """Returns the ids of a prompt."""
    stream: Callable[[], Callable[[int], str | None]]
    """Opens a stream: a function that takes an id and returns the text that the id completes."""


class Window:
    """A stream that decodes the last ids twice in each step, as servers do if a library has no streams."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.ids: list[int] = []
        self.begin = self.end = 0

    def step(self, id: int) -> str | None:
        """Add an id. Return the text that it completes, or None while a character is incomplete."""
        self.ids.append(id)
        parts = self.ids[self.begin : self.end], self.ids[self.begin :]
        before, now = (self.tokenizer.decode(ids, skip_special_tokens=False) for ids in parts)
        if len(now) <= len(before) or now.endswith("\ufffd"):
            return None
        self.begin, self.end = self.end, len(self.ids)
        return str(now[len(before) :])


def open_server(engine: str, path: str) -> Server:
    """Open a tokenizer.json with the engine."""
    library = import_module({"crayon": "crayon_hf", "prerelease": "tokenizers"}.get(engine, engine))
    it: Any = library.Tokenizer.from_file(path)
    if engine == "fastokens":
        return Server(lambda text: it.encode(text).ids, lambda: _steps(import_module("fastokens._native"), it))
    has_streams = engine == "crayon" or hasattr(it, "from_str")  # version 1.0 has none
    streams = library if engine == "crayon" else import_module("tokenizers.decoders")
    return Server(
        lambda text: it.encode(text, add_special_tokens=False).ids,
        lambda: _steps(streams, it) if has_streams else Window(it).step,
    )


def _steps(module: Any, tokenizer: Any) -> Callable[[int], str | None]:
    stream = module.DecodeStream(skip_special_tokens=False)
    return lambda id: stream.step(tokenizer, id)


def prompts(server: Server, texts: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Encode the prompts of each size one after the other. Yield a name and figures for each size."""
    for name, of_size in texts.items():
        made = digest(*(array("I", server.encode(text)).tobytes() for text in of_size))
        figure = least(lambda: list(map(server.encode, of_size)), len(of_size))  # noqa: B023
        yield f"prompt of {name} tokens", {**figure, "digest": made}


def streams(server: Server, rows: list[list[int]]) -> tuple[str, dict[str, Any]]:
    """Let all streams take steps in turn. Return a name, and the figures for one step of one stream."""
    texts: list[list[str]] = []

    def run() -> None:
        texts[:] = [[] for _ in rows]
        steps = [server.stream() for _ in rows]
        for ids in zip(*rows, strict=True):
            for step, id, text in zip(steps, ids, texts, strict=True):
                new = step(id)
                if new is not None:
                    text.append(new)

    figure = least(run, len(rows) * len(rows[0]))
    made = digest(*("".join(text).encode() for text in texts))
    return f"a step of {len(rows)} streams", {**figure, "digest": made}


def first_token(server: Server, prompt: str) -> dict[str, Any]:
    """Do the work of a process until its first answer begins. The tokenizer stays open."""
    _kept.append(server)
    ids = list(server.encode(prompt))
    text = next((text for text in map(server.stream(), ids) if text), "")
    return {"digest": digest(array("I", ids).tobytes(), text.encode())}


_kept: list[Server] = []


def started(step: dict[str, Any], job: dict[str, Any]) -> tuple[subprocess.Popen[str], str]:
    """Start a process, and wait until it has done `first_token`. Return the process, and the digest of its answer.

    The process keeps its tokenizer open until it is killed, or its standard input is closed.
    """
    child = subprocess.Popen(job["command"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    # The child's job has only the first prompt: the time to read a longer prompt would count.
    prompt = next(iter(step["prompts"].values()))[0]
    small = {**step, "prompts": {}, "streams": [], "prompt": prompt}
    child.stdin.write(json.dumps({**job, "tasks": [{**small, "name": name} for name in ("first", "worker")]}) + "\n")
    child.stdin.flush()
    return child, next(event["digest"] for event in map(json.loads, child.stdout) if event.get("done") == "first")


def workers(step: dict[str, Any], job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Start many processes that have used a tokenizer and keep it. Return two cells by their names.

    They are the time of a process from its start to its first token, and its memory. The first process has read the
    file into the page cache. The memory of shared pages is divided among the processes that share them.
    """
    running, seconds = [], []
    for _ in range(step["workers"]):
        begin = time.perf_counter()
        running.append(started(step, job))
        seconds.append(time.perf_counter() - begin)
    sizes_of = import_module(f"{__package__}.memory").sizes_of
    shares, before = sum(sizes_of(child.pid)["Pss"] for child, _ in running), os.times()
    for child, _ in running:
        child.kill()
        child.communicate()
    after, made = os.times(), ",".join(sorted({found for _, found in running}))
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    cells: dict[str, dict[str, Any]] = {
        "start to first token": {"wall": min(seconds[1:4]), "cpu": cpu / len(running)},
        f"each of {len(running)} workers": {"amount": shares / len(running), "unit": "MB"},
    }
    return {name: {**cell, "digest": made} for name, cell in cells.items()}


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Measure all calls, or do a step of the processes that `started` starts, by the step's name."""
    if step["name"] == "worker":
        sys.stdin.read()
        return {}
    server = open_server(job["engine"], step["tokenizer"])
    if step["name"] == "first":
        return first_token(server, step["prompt"])
    cells = dict([*prompts(server, step["prompts"]), streams(server, step["streams"])])
    return {"cells": {**cells, **workers(step, job)}}

"""Measures a tokenizer in this process as a model server uses it.

The measurements, each with a digest of the results:

- prompts of some sizes
- many streams whose ids arrive in turn, a step each
- the time from the start of a process to the first token of its first answer
- the memory of many workers, which are processes that hold a used tokenizer

A time is the least of a few repeats. A step with a ``role`` runs one of these processes.
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

from .measured import digest, least, version_of

REPEATS = 3
DISTRIBUTIONS = {
    "crayon": "crayon-hf",
    "tokenizers": "tokenizers",
    "fastokens": "fastokens",
    "prerelease": "tokenizers",
}


class Server(NamedTuple):
    """The calls that a server makes to a tokenizer."""

    encode: Callable[[str], Any]
    """Returns the ids of a prompt."""
    stream: Callable[[], Callable[[int], str | None]]
    """Opens a stream: a function that takes an id and returns the text that the id completes."""


class Window:
    """A stream that decodes the last ids twice in each step, as servers do if a library has no streams."""

    def __init__(self, decode: Callable[[list[int]], str]) -> None:
        self.decode = decode
        self.ids: list[int] = []
        self.begin = self.end = 0

    def step(self, id: int) -> str | None:
        """Add an id. Return the text that it completes, or None while a character is incomplete."""
        self.ids.append(id)
        before = self.decode(self.ids[self.begin : self.end])
        now = self.decode(self.ids[self.begin :])
        if len(now) <= len(before) or now.endswith("\ufffd"):
            return None
        self.begin, self.end = self.end, len(self.ids)
        return now[len(before) :]


def open_server(engine: str, path: str) -> Server:
    """Open a tokenizer.json with the engine."""
    if engine == "fastokens":
        native = import_module("fastokens._native")
        it: Any = import_module("fastokens").Tokenizer.from_file(path)
        return Server(lambda text: it.encode(text).ids, lambda: _steps(native.DecodeStream, it))
    library = import_module("crayon_hf" if engine == "crayon" else "tokenizers")
    it = library.Tokenizer.from_file(path)

    def encode(text: str) -> Any:
        return it.encode(text, add_special_tokens=False).ids

    if engine != "crayon" and not hasattr(it, "from_str"):  # version 1.0 has no streams
        return Server(encode, lambda: Window(lambda ids: str(it.decode(ids, skip_special_tokens=False))).step)
    kind = library.DecodeStream if engine == "crayon" else import_module("tokenizers.decoders").DecodeStream
    return Server(encode, lambda: _steps(kind, it))


def _steps(kind: Any, tokenizer: Any) -> Callable[[int], str | None]:
    stream = kind(skip_special_tokens=False)
    return lambda id: stream.step(tokenizer, id)


def prompts(server: Server, texts: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Encode the prompts of each size one after the other. Yield a name and figures for each size."""
    for name, of_size in texts.items():
        made = digest(*(array("I", server.encode(text)).tobytes() for text in of_size))
        figure = least(lambda: list(map(server.encode, of_size)), count=len(of_size))  # noqa: B023
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

    figure = least(run, count=len(rows) * len(rows[0]))
    made = digest(*("".join(text).encode() for text in texts))
    return f"a step of {len(rows)} streams", {**figure, "digest": made}


def first_token(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Do all work of a process until its first answer begins. The tokenizer stays open."""
    server = open_server(job["engine"], step["tokenizer"])
    _open.append(server)
    ids = list(server.encode(next(iter(step["prompts"].values()))[0]))
    text = next((text for text in map(server.stream(), ids) if text), "")
    return {"digest": digest(array("I", ids).tobytes(), text.encode())}


_open: list[Server] = []


def starts(step: dict[str, Any], job: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a name, and the time of a process from its start to its first token.

    Before the measured processes, another process has read the file into the page cache.
    """
    figures, made = [], set()
    for _ in range(1 + REPEATS):
        begin, before = time.perf_counter(), os.times()
        child = _child(step, job, "first")
        said = _line(child)
        seconds = time.perf_counter() - begin
        child.communicate()
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        figures.append((seconds, cpu))
        made.add(said["digest"])
    seconds, cpu = min(figures[1:])
    return "start to first token", {"wall": seconds, "cpu": cpu, "digest": ",".join(sorted(made))}


def workers(step: dict[str, Any], job: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Start many processes that have used a tokenizer and keep it. Yield names, and the memory of each process.

    The memory of shared pages is divided among the processes that share them.
    """
    running: list[subprocess.Popen[str]] = []
    made = set()
    try:
        for _ in range(step["workers"]):
            running.append(_child(step, job, "worker"))
            if len(running) % 4 == 0:  # a few at a time: the memory that starting takes is not measured
                made |= {_line(child)["digest"] for child in running[-4:]}
        made |= {_line(child)["digest"] for child in running[len(running) // 4 * 4 :]}
        shares = sum(_smaps(child.pid, "Pss") for child in running)
        name = f"each of {len(running)} workers"
        yield name, {"amount": shares / len(running), "unit": "MB", "digest": ",".join(sorted(made))}
    finally:
        for child in running:
            child.kill()
            child.communicate()


def _line(child: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the child's report of its first token, and return it."""
    assert child.stdout is not None
    events = map(json.loads, child.stdout)
    return next(event for event in events if event.get("done") == "first")


def _child(step: dict[str, Any], job: dict[str, Any], role: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(job["command"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    # The child's job has only the first prompt: the time to read a longer prompt would count.
    prompts = {name: of_size[:1] for name, of_size in list(step["prompts"].items())[:1]}
    small = {**step, "prompts": prompts, "streams": []}
    tasks = [{**small, "name": each, "role": each} for each in ("first", "worker")[: 1 + (role == "worker")]]
    child.stdin.write(json.dumps({**job, "tasks": tasks}) + "\n")
    child.stdin.flush()
    return child


def _smaps(pid: int, name: str) -> float:
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(f"{name}:")) * 1024 / 1e6


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Measure all calls, or act as a process that another one started to measure, as the step's ``role`` says."""
    role = step.get("role")
    if role == "first":
        return first_token(step, job)
    if role == "worker":
        sys.stdin.read()  # blocks until the process is killed
        return {}
    server = open_server(job["engine"], step["tokenizer"])
    cells = dict(prompts(server, step["prompts"]))
    cells.update([streams(server, step["streams"]), starts(step, job), *workers(step, job)])
    return {"version": version_of(DISTRIBUTIONS.get(job["engine"], job["engine"])), "cells": cells}

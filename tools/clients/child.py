"""Runs a client's script in its own process, with stock or with ours: `python -m clients.child SCRIPT SIDE CACHE`.

The process makes the tasks, runs them once, writes their results to ``SIDE.json`` in its working directory, and prints
that it is ready. Then each line of input is a round: the process runs all tasks, and answers with the processor seconds
of each task, over all threads and finished children.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from clients.client import Client, Kit
from clients.comparison import digest, failure, plain

LEAST_SECONDS = 0.03
"""Tasks that take less are repeated within a round."""


def main(script: str, side: str, cache: str) -> None:
    """Run the script on one side ("stock" or "ours"), and answer a line of input for each round until the input
    ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries goes to stderr, not among the answers

    def answer(**said: Any) -> None:
        print(json.dumps(said), file=answers, flush=True)

    module = importlib.import_module(f"clients.scripts.{script}")
    client: Client = module.CLIENT
    if side == "ours":
        import crayon_hf

        if client.install:
            crayon_hf.install(**{name: name in client.install for name in ("transformers", "tokenizers", "tiktoken")})
    kit = Kit(side == "ours", Path(cache), Path.cwd())
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    tasks: dict[str, Callable[[], object]] = {}
    counts: dict[str, int] = {}
    try:
        tasks.update(module.tasks(kit))
    except Exception as error:
        traceback.print_exc()
        results["the script"] = failure(error)
    for name, task in tasks.items():
        results[name], seconds = _once(task)
        counts[name] = max(1, min(200, round(LEAST_SECONDS / max(seconds, 1e-5))))
    Path(f"{side}.json").write_text(json.dumps(results), encoding="utf-8")
    first = {name: digest(result) for name, result in results.items()}
    answer(
        version=version(client.distribution),
        engines=_engines() if side == "ours" else {},
        tasks=list(tasks),
    )
    gc.collect()
    gc.freeze()  # later collections skip the libraries' objects
    for line in sys.stdin:
        times = {}
        unsteady = []
        chosen = json.loads(line)
        for name in chosen:
            gc.collect()
            begin = _seconds()
            for _ in range(counts[name]):
                try:
                    result = tasks[name]()
                except Exception as error:
                    result = failure(error)
            times[name] = (_seconds() - begin) / counts[name]
            if digest(_plain(result)) != first[name]:
                unsteady.append(name)
        answer(times=times, unsteady=unsteady)


def _once(task: Callable[[], object]) -> tuple[Any, float]:
    begin = time.process_time()
    try:
        result = task()
    except Exception as error:
        traceback.print_exc()
        result = failure(error)
    return _plain(result), time.process_time() - begin


def _plain(result: object) -> Any:
    return json.loads(json.dumps(plain(result)))


def _seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _engines() -> dict[str, int]:
    """Return the number of open tokenizers of crayon_hf, by engine. Empty if the script opened none."""
    from crayon_hf import Tokenizer

    found: dict[str, int] = {}
    for it in gc.get_objects():
        if issubclass(type(it), Tokenizer):  # not isinstance, which fails for a dead weak proxy
            found[it.engine] = found.get(it.engine, 0) + 1
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])

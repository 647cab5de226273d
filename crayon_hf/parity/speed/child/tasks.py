"""The steps of one measuring process: open a vocabulary, then do each step of the job."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import statistics
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from typing import Any

from .engines import distribution_of, make, module_of
from .memory import forget_peak, give_back, occupied, peak, touch_free_pages
from .serve import Result, Task, serve

__all__ = ["main"]

WARMING = ["a"] * 64
"""Texts to encode before anything is timed, so that a process imports NumPy and starts its threads."""


def main() -> int:
    """Do the job that stdin describes: open a vocabulary with one engine, and measure."""
    serve(_begin)
    # Libraries' exit handlers are not measured, and an engine's threads must not keep a process alive.
    os._exit(0)


def _begin(job: dict[str, Any], say: Callable[..., None]) -> tuple[Result, Callable[[Task], Result]]:
    if job["cpus"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job["cpus"])
    if job["files"] is None:  # each step opens its own files
        return {}, lambda step: _done_by_module(step, job)
    measuring = _Measuring(job)
    return measuring.facts, lambda step: getattr(measuring, step["kind"])(step)


def _done_by_module(step: Task, job: dict[str, Any]) -> Result:
    result: Result = import_module(f".{step['kind']}", __package__).run(step, job)
    return {"version": _version(distribution_of(job["engine"])), **result}


def _version(distribution: str) -> str:
    ours = "crayon-hf"  # can run uninstalled, from its sources
    return str(import_module("crayon_hf").__version__) if distribution == ours else version(distribution)


def _documents(step: Task) -> Iterator[Any]:
    """Yield the texts of a step's file, or the lists of ids to decode: each is a line of JSON."""
    with open(step["path"], encoding="utf-8") as lines:
        yield from islice(map(json.loads, lines), step.get("most"))


def _batches(step: Task) -> Iterable[list[Any]]:
    """Return the documents of a step in lists of ``step["batch"]``, or all in one list."""
    documents = _documents(step)
    return iter(lambda: list(islice(documents, step["batch"])), [])


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Return the wall-clock and processor time of a call, in seconds."""
    gc.collect()
    gc.disable()
    cpu = time.process_time()
    started = time.perf_counter()
    result = work(*arguments)
    wall = time.perf_counter() - started
    cpu = time.process_time() - cpu
    gc.enable()
    del result
    return wall, cpu


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


class _Measuring:
    """An engine with an open vocabulary. The public methods do the steps, by their kinds."""

    def __init__(self, job: dict[str, Any]) -> None:
        engine, files = job["engine"], job["files"]
        distribution = distribution_of(engine)
        self.job, self.module = job, None
        if not files["stand_in"]:
            self.module = import_module(module_of(distribution))
        for module in ("numpy", "awkward") if engine == "gigatoken" else ("numpy",):
            with contextlib.suppress(ImportError):  # else most engines would import it in their first call
                import_module(module)
        if files.get("directory"):  # transformers imports lazily; importing is not part of opening
            for package in ("transformers", module_of(distribution)):
                getattr(import_module(package), "AutoTokenizer", None)
        gc.collect()
        self.before = occupied()
        started = time.perf_counter()
        self.it = make(engine, files, job["threads"])
        opening = (time.perf_counter() - started) * 1000
        self.facts = {
            "open_ms": opening,
            "version": "" if files["stand_in"] else _version(distribution),
            "call": self.it.call,
            "gives": self.it.gives,
            "decode": self.it.decode_call,
            "memory": self._grown(),
        }

    def _grown(self) -> dict[str, float]:
        """Return the memory of the process now, and its growth since the vocabulary was opened. Nothing if unknown."""
        give_back()
        now, before = occupied(), self.before
        return {**now, **{f"{key}_grown": now[key] - before[key] for key in now}}

    def passes(self, step: Task) -> Result:
        """Encode all documents ``repeats`` times after the first pass, or until ``seconds`` have passed."""
        run = self.it.run
        kept = list(_batches(step)) if step["batch"] is None else None  # a larger text is read anew in each pass
        run(WARMING)
        at_first = occupied()
        forget_peak()
        times: list[tuple[float, ...]] = []

        def timed(documents: list[Any]) -> tuple[float, float]:
            if kept is None or not times:
                touch_free_pages()
            return _timed(run, documents)

        while len(times) <= step["repeats"]:
            if len(times) > 1 and sum(wall for wall, _ in times) > step["seconds"]:
                break
            parts = [timed(documents) for documents in kept or _batches(step)]
            times.append(tuple(map(sum, zip(*parts, strict=True))))
        if kept is not None:
            return {"times": times}
        memory = {"before": at_first, "peak": peak(), "after": occupied()}
        getattr(self.module, "trim", lambda: None)()
        give_back()
        return {"times": times, **memory, "trimmed": occupied()}

    def ids(self, step: Task) -> Result:
        """Return a hash of each document's ids, to be compared with others. Write the ids to ``keep``, if it is set."""
        it, hashes, tokens = self.it, [], 0
        with open(step["keep"] or os.devnull, "w", encoding="ascii") as out:
            for documents in _batches(step):
                if step["single"]:
                    rows: Iterable[bytes] = (array("I", map(int, it.short(each))).tobytes() for each in documents)
                else:
                    rows = it.rows(it.run(documents))
                for row in rows:
                    hashes.append(_hash(row))
                    tokens += len(row) // 4
                    if step["keep"]:
                        out.write(f"{array('I', row).tolist()}\n")
        return {"hashes": hashes, "tokens": tokens}

    def decoded(self, step: Task) -> Result:
        """Return a hash of each decoded text, for comparison with other engines."""
        texts = self.it.decode(list(_documents(step)))
        data = (text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text) for text in texts)
        return {"hashes": list(map(_hash, data))}

    def decode(self, step: Task) -> Result:
        """Decode all ids, as lists."""
        ids = list(_documents(step))
        self.it.decode(ids[:2])
        return {"times": [min(_timed(self.it.decode, ids) for _ in range(2))]}

    def short(self, step: Task) -> Result:
        """Encode single short texts."""
        documents, short = list(_documents(step)), self.it.short

        def lap() -> None:
            for document in documents:
                short(document)

        laps = [_timed(lap) for _ in range(step["laps"])][step["laps"] // 6 :]
        return {"times": [[statistics.median(each) / len(documents) for each in zip(*laps, strict=True)]]}

    def memory(self, step: Task) -> Result:
        """Encode entirely new words. Return the memory after the first batch and after the last one."""
        grown: dict[int, dict[str, float]] = {}
        until, size = time.monotonic() + (step["seconds"] or 1e9), 0
        for documents in _batches(step):
            self.it.run(documents)
            size += sum(map(len, documents))
            if not grown:
                grown[size] = self._grown()
            if time.monotonic() > until:
                break
        grown[size] = self._grown()
        return {"after": [{"bytes": size, **sizes} for size, sizes in grown.items() if sizes]}

"""The steps of one measuring process: open a vocabulary, then do each step of the job."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import statistics
import subprocess
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .engines import ENGINES, MODULES, Contestant, make
from .memory import forget_peak, give_back, occupied, peak
from .serve import Result, Task, serve

__all__ = ["main"]

WARMING = ["a"] * 64
"""Texts to encode before anything is timed, so that a process imports NumPy and starts its threads."""
DOCUMENT, BATCH = 2048, 16_000_000
"""A plain text is cut into documents of this number of bytes, and encoded by calls with this number of bytes."""


def main() -> int:
    """Do the job that stdin describes: open a vocabulary with one engine, and measure."""
    serve(_begin)
    # Libraries' exit handlers are not measured, and an engine's threads must not keep a process alive.
    os._exit(0)


def _begin(job: dict[str, Any], say: Callable[..., None]) -> tuple[Result, Callable[[Task], Result]]:
    if job["cpus"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job["cpus"])
    engine, files, threads = job["engine"], job["files"], job["threads"]
    if files is None:  # each step opens its own files
        return {}, lambda step: import_module(f".{step['kind']}", __package__).run(step, job)
    distribution = ENGINES[engine][0] if engine in ENGINES else ""
    if not files.get("stand_in"):
        import_module(_module(distribution))
    for module in ("numpy", "awkward") if engine == "gigatoken" else ("numpy",):
        with contextlib.suppress(ImportError):  # else most engines would import it in their first call
            import_module(module)
    if files.get("directory"):  # transformers imports lazily; importing is not part of opening
        for package in dict.fromkeys(("transformers", distribution)):
            getattr(import_module(_module(package)), "AutoTokenizer", None)
    gc.collect()
    before = occupied()
    started = time.perf_counter()
    contestant = make(engine, files, threads)
    opening = (time.perf_counter() - started) * 1000
    call = contestant.lists if job["call"] == "lists" else contestant.best
    facts = {
        "open_ms": opening,
        "version": _version(distribution),
        "call": call.name,
        "gives": call.gives,
        "decode": contestant.decode_name,
        "memory": _grown(before),
    }
    return facts, lambda step: _STEPS[step["kind"]](step, contestant, call, job, before)


def _module(distribution: str) -> str:
    return MODULES.get(distribution, distribution.replace("-", "_"))


def _version(distribution: str) -> str:
    if not distribution:
        return ""
    try:
        return version(distribution)
    except PackageNotFoundError:  # ours, run from its sources
        return str(getattr(import_module(_module(distribution)), "__version__", ""))


def _grown(before: dict[str, float] | None) -> dict[str, float] | None:
    """The memory of the process now, and its growth since ``before``."""
    give_back()
    now = occupied()
    if now is None or before is None:
        return None
    return {**now, **{f"{key}_grown": now[key] - before[key] for key in now}}


def _documents(step: dict[str, Any]) -> Any:
    """Read the file of a step: a list of texts, or for decoding a list of lists of ids."""
    with open(step["path"], encoding="utf-8", newline="") as stream:
        return json.loads(stream.read())


def _batches(step: dict[str, Any]) -> Iterable[list[str]]:
    """Return the documents of a step in batches: one batch for a list in JSON, batches of 16 MB for a plain text."""
    return [_documents(step)] if step["path"].endswith(".json") else _Batches(step["path"])


class _Batches:
    """Documents of at most 2,048 bytes, cut between characters, read anew in each pass."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[list[str]]:
        with open(self.path, "rb") as file:
            rest = b""
            while data := file.read(BATCH - len(rest)):
                data, docs, at = rest + data, [], 0
                while at < len(data):
                    end = min(at + DOCUMENT, len(data))
                    while end < len(data) and data[end] & 0xC0 == 0x80:
                        end -= 1
                    if end == len(data) == BATCH:  # the next batch begins with this document
                        break
                    docs.append(data[at:end].decode())
                    at = end
                rest = data[at:]
                yield docs
            if rest:
                yield [rest.decode()]


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall-clock and processor time of `work`, in seconds."""
    gc.collect()
    gc.disable()
    cpu = time.process_time()
    started = time.perf_counter()
    result = work()
    wall = time.perf_counter() - started
    cpu = time.process_time() - cpu
    gc.enable()
    del result
    return wall, cpu


def _passes(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    batches, short = _batches(step), contestant.short
    run: Callable[[Any], Any] = (lambda docs: [short(doc) for doc in docs]) if step.get("single") else call.run
    run(WARMING)
    at_first = occupied()
    forget_peak()
    measured: list[tuple[float, float]] = []
    while len(measured) <= step["repeats"]:
        if len(measured) > 1 and sum(wall for wall, _ in measured) > step["seconds"]:
            break
        parts = [_timed(lambda: run(docs)) for docs in batches]  # noqa: B023
        measured.append((sum(wall for wall, _ in parts), sum(cpu for _, cpu in parts)))
    result = {"wall": [wall for wall, _ in measured], "cpu": [cpu for _, cpu in measured], "steady": step["steady"]}
    if isinstance(batches, _Batches):
        result |= {"before": at_first, "peak": peak(), "after": occupied(), "trimmed": _trimmed(job["engine"])}
    return result


def _trimmed(engine: str) -> dict[str, float] | None:
    """Return the memory of the process after the allocator, and the engine if it can, have released their reserves."""
    distribution = ENGINES[engine][0] if engine in ENGINES else ""
    trim = getattr(import_module(_module(distribution)), "trim", None) if distribution else None
    if trim is not None:
        trim()
    give_back()
    return occupied()


def _ids(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    kept: list[list[int]] = []
    tokens = count = 0
    with open(step["to"], "wb") as out:
        for docs in _batches(step):
            if step.get("single"):
                rows = [array("I", list(map(int, contestant.short(doc)))).tobytes() for doc in docs]
            else:
                rows = list(call.rows(call.run(docs)))
            out.write(b"".join(hashlib.blake2b(row, digest_size=8).digest() for row in rows))
            tokens, count = tokens + sum(map(len, rows)) // 4, count + len(rows)
            kept += [array("I", row).tolist() for row in rows] if step.get("keep") else []
    if step.get("keep"):
        with open(step["keep"], "w", encoding="ascii") as file:
            json.dump(kept, file)
    return {"tokens": tokens, "documents": count}


def _decoded(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    """Write digests of the decoded texts, for comparison with other engines."""
    rows = contestant.decode(_documents(step))
    with open(step["to"], "wb") as out:
        for row in rows:
            data = row.encode("utf-8", "surrogatepass") if isinstance(row, str) else bytes(row)
            out.write(hashlib.blake2b(data, digest_size=8).digest())
    return {"documents": len(rows)}


def _decode(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    ids = _documents(step)
    contestant.decode(ids[:2])
    measured = [_timed(lambda: contestant.decode(ids)) for _ in range(2)]
    return {"wall": [min(wall for wall, _ in measured)], "cpu": [min(cpu for _, cpu in measured)]}


def _short(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    docs, short = _documents(step), contestant.short

    def lap() -> None:
        for doc in docs:
            short(doc)

    laps = [_timed(lap) for _ in range(step["laps"])][step["laps"] // 6 :]
    return {
        "wall": [statistics.median(wall for wall, _ in laps) / len(docs)],
        "cpu": [statistics.median(cpu for _, cpu in laps) / len(docs)],
    }


def _memory(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    """Encode entirely new words, and return the memory after each MB.

    With ``extra``, also return the memory of a second process that opens the same vocabulary meanwhile.
    """
    after: list[dict[str, Any]] = []
    started, size = time.monotonic(), 0
    with open(step["path"], encoding="ascii") as stream:
        while size < step["bytes"] and (not step["seconds"] or time.monotonic() - started < step["seconds"]):
            text = stream.read(1_000_000)
            if not text:
                break
            call.run([text[at : at + 2048] for at in range(0, len(text), 2048)])
            size += len(text)
            del text
            if size <= 8_000_000 or size >= step["bytes"]:
                now = _grown(before)
                after.append({"bytes": size, **now} if now else {})
    if not after or after[-1].get("bytes") != size:
        now = _grown(before)
        after.append({"bytes": size, **now} if now else {})
    extra = None
    if step["extra"]:
        second = {**job, "tasks": [{**step, "extra": False, "bytes": 1_000_000}]}
        command = {"text": True, "check": True, "timeout": step["limit"], "stdout": subprocess.PIPE}
        said = subprocess.run(job["command"], input=json.dumps(second) + "\n", **command).stdout
        extra = next((line["after"][-1] for line in map(json.loads, said.splitlines()) if "after" in line), None)
    return {"after": after, "extra": extra}


_STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "passes": _passes,
    "ids": _ids,
    "decoded": _decoded,
    "decode": _decode,
    "short": _short,
    "memory": _memory,
}

"""The steps of one measuring process: open a vocabulary, then each step of the job, one line of JSON for each.

A step that takes longer than its limit ends the process (native code cannot be interrupted otherwise); the parent sees
which step that was, since results are written one by one, and goes on behind it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from array import array
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .engines import ENGINES, MODULES, CannotOpenError, Contestant, make
from .memory import occupied

__all__ = ["main"]

WARMING = ["a"] * 64
"""What is encoded before anything is timed: a process imports NumPy and starts its threads once."""

SHORT_LAPS = 60


def main() -> int:
    """Do the job that stdin describes."""
    job: dict[str, Any] = json.loads(sys.stdin.read())
    with open(job["results"], "a", encoding="utf-8") as out:

        def tell(**result: Any) -> None:
            out.write(json.dumps(result) + "\n")
            out.flush()

        _run(job, tell)
    # What libraries do at exit is not measured, and an engine's threads must not keep a process alive.
    os._exit(0)


def _run(job: dict[str, Any], tell: Callable[..., None]) -> None:
    if job["cpus"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job["cpus"])
    engine, files, threads = job["engine"], job["files"], job["threads"]
    distribution = ENGINES[engine][0] if engine in ENGINES else ""
    try:
        if not files.get("stand_in"):
            import_module(_module(distribution))
    except ImportError as error:
        tell(cannot_open=f"{distribution} is not installed ({error})", missing=True)
        return
    for module in ("numpy", "awkward") if engine == "gigatoken" else ("numpy",):
        with contextlib.suppress(ImportError):  # most import it in their first call
            import_module(module)
    if files.get("directory"):  # it is imported in the moment it is asked for, which is not opening
        for package in dict.fromkeys(("transformers", distribution)):
            getattr(import_module(_module(package)), "AutoTokenizer", None)
    gc.collect()
    before = occupied()
    _limit(job["limit"])
    started = time.perf_counter()
    try:
        contestant = make(engine, files, threads)
    except (CannotOpenError, ImportError) as error:
        tell(cannot_open=str(error), missing=isinstance(error, ImportError))
        return
    except Exception as error:
        tell(cannot_open=_said(error), missing=False)
        return
    opening = (time.perf_counter() - started) * 1000
    _limit(0)
    call = contestant.lists if job["call"] == "lists" else contestant.best
    tell(
        open_ms=opening,
        version=_version(distribution),
        call=call.name if call else "",
        gives=call.gives if call else "",
        decode=contestant.decode_name,
        memory=_grown(before),
    )
    if call is None:
        return
    for step in job["steps"]:
        tell(begun=step["name"])
        _limit(step["limit"])
        try:
            result = _STEPS[step["kind"]](step, contestant, call, job, before)
        except Exception as error:
            result = {"failed": _said(error)}
        _limit(0)
        tell(done=step["name"], **result)


def _module(distribution: str) -> str:
    return MODULES.get(distribution, distribution.replace("-", "_"))


def _said(error: Exception) -> str:
    """An error in one line."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:200]


def _limit(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _version(distribution: str) -> str:
    if not distribution:
        return ""
    try:
        return version(distribution)
    except PackageNotFoundError:  # ours, run from its sources
        return str(getattr(import_module(_module(distribution)), "__version__", ""))


def _grown(before: dict[str, float] | None) -> dict[str, float] | None:
    """What the process occupies, and how much of it came since ``before``."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # what is free goes back to the system; glibc only
        ctypes.CDLL(None).malloc_trim(0)
    now = occupied()
    if now is None or before is None:
        return None
    return {**now, **{f"{key}_grown": now[key] - before[key] for key in now}}


def _documents(step: dict[str, Any]) -> Any:
    """A list of texts, or of lists of ids."""
    with open(step["path"], encoding="utf-8", newline="") as stream:
        return json.loads(stream.read())


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
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
    docs, short = _documents(step), contestant.short
    run: Callable[[Any], Any] = (lambda docs: [short(doc) for doc in docs]) if step.get("single") else call.run
    run(WARMING)
    measured = [_timed(lambda: run(docs))]
    while len(measured) < 1 + step["repeats"] and (len(measured) == 1 or sum(wall for wall, _ in measured) < 1):
        measured.append(_timed(lambda: run(docs)))
    return {"wall": [wall for wall, _ in measured], "cpu": [cpu for _, cpu in measured], "memory": _grown(before)}


def _ids(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    docs = _documents(step)
    if step.get("single"):
        rows = [array("I", list(map(int, contestant.short(doc)))).tobytes() for doc in docs]
    else:
        rows = list(call.rows(call.run(docs)))
    with open(step["to"], "wb") as out:
        out.write(b"".join(hashlib.blake2b(row, digest_size=8).digest() for row in rows))
    if step.get("keep"):
        with open(step["keep"], "w", encoding="ascii") as kept:
            json.dump([array("I", row).tolist() for row in rows], kept)
    return {"tokens": sum(map(len, rows)) // 4, "documents": len(rows)}


def _decoded(step: dict[str, Any], contestant: Contestant, call: Any, job: Any, before: Any) -> dict[str, Any]:
    """What decoding gives, for comparison."""
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
    """After so many MB of words that are all new; and what a second process adds while this one is open."""
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
        second = {**job, "results": job["results"] + ".extra"}
        second["steps"] = [{**step, "extra": False, "bytes": 1_000_000}]
        subprocess.run(job["command"], input=json.dumps(second), text=True, check=True, timeout=step["limit"])
        with open(second["results"], encoding="utf-8") as results:
            lines = [json.loads(line) for line in results]
        extra = next((line["after"][-1] for line in lines if "after" in line), None)
    return {"after": after, "extra": extra}


_STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "passes": _passes,
    "ids": _ids,
    "decoded": _decoded,
    "decode": _decode,
    "short": _short,
    "memory": _memory,
}

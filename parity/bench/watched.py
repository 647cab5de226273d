"""A job in fresh processes, watched from outside: how long it takes, and the memory of all of its processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crayon_hf.parity.compare.children import command_by_path, last_line

__all__ = ["LIMIT", "Watched", "end_group", "look_at_tree", "run_watched"]

LIMIT = 3600.0
"""Seconds that one job may take."""


@dataclass
class Watched:
    """What came of a job."""

    said: dict[str, Any] = field(default_factory=dict)
    """The object in JSON that the last line of its output is."""
    failed: str = ""
    seconds: float = 0.0
    """From the start of the process to its end."""
    cpu: float = 0.0
    """Of all processes together."""
    peak_mb: float = 0.0
    """The most memory of all processes together, pages that they share counted once, looked at every 50 ms."""
    moved: int = 0
    """Bytes that all processes read and wrote, as far as that was seen."""


def run_watched(script: str, job: dict[str, Any], work: str, threads: int, python: str = "") -> Watched:
    """Run a script of ``child`` by its path, with the job as JSON on its standard input; it writes into `work`.

    `python` is another interpreter, of an environment of its own, which gets nothing of this one.
    """
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "PYTHONWARNINGS": "ignore",
    }
    path = Path(__file__).parent / "child" / script
    command = command_by_path(path.parent, path.stem, python=python)
    done = Watched()
    with open(f"{work}/said", "w+b") as said, open(f"{work}/errors", "w+b") as errors:
        started = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=errors,
            cwd=work,
            env=environment,
            start_new_session=True,
        )
        try:
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended: its status says how
                child.stdin.write((json.dumps({**job, "command": command}) + "\n").encode())
                child.stdin.close()
            processor: dict[int, float] = {}
            moved: dict[int, int] = {}
            while True:
                ended, status, usage = os.wait4(child.pid, os.WNOHANG)
                if ended:
                    break
                if time.perf_counter() - started > LIMIT and not done.failed:
                    done.failed = f"over {LIMIT:g} s"
                    end_group(child.pid)
                done.peak_mb = max(done.peak_mb, look_at_tree(child.pid, processor, moved))
                time.sleep(0.05)
            done.seconds = time.perf_counter() - started
            # What nobody waited for is in no usage; what lived less than 50 ms is in that alone.
            done.cpu = max(usage.ru_utime + usage.ru_stime, sum(processor.values()))
            done.moved = sum(moved.values())
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:  # also when this process is interrupted: nobody takes time from the next one, or writes on
            end_group(child.pid)
            child.wait()
        errors.seek(0)
        said.seek(0)
        why = errors.read().decode(errors="replace")
        answer = said.read().decode(errors="replace").strip().splitlines()
    if not done.failed and (child.returncode or not answer):
        done.failed = (last_line(why) if why.strip() else f"the process ended with code {child.returncode}")[:200]
    if not done.failed:
        done.said = json.loads(answer[-1])
    return done


def end_group(group: int) -> None:
    """Kill all processes of a group, and wait until they are gone; a parent may still have to ask for their status."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        if not any(_is_of_group(status, group) for status in Path("/proc").glob("[0-9]*/stat")):
            return
        time.sleep(0.01)


def _is_of_group(status: Path, group: int) -> bool:
    try:
        state, _, of = status.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[:3]
    except (OSError, ValueError):
        return False  # it has just ended
    return int(of) == group and state not in "ZX"


def look_at_tree(pid: int, processor: dict[int, float], moved: dict[int, int]) -> float:
    """Memory of a process and of all below it, in MB, shared pages in shares.

    `processor` gets how many seconds of it each has had until now, `moved` how many bytes each has read and written.
    """
    total = 0.0
    left = [pid]
    ticks = os.sysconf("SC_CLK_TCK")
    while left:
        each = left.pop()
        try:
            times = Path(f"/proc/{each}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            processor[each] = (int(times[11]) + int(times[12])) / ticks
            calls = dict(line.split(": ") for line in Path(f"/proc/{each}/io").read_text(encoding="ascii").splitlines())
            moved[each] = int(calls["rchar"]) + int(calls["wchar"])
            for task in Path(f"/proc/{each}/task").iterdir():
                left += map(int, (task / "children").read_text(encoding="ascii").split())
            for line in Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024 / 1e6
        except (OSError, ValueError):
            continue  # it has just ended
    return total

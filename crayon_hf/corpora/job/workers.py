"""The tasks of a job on several processes."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from crayon_hf.corpora.job.encoder import JobTokenizer
from crayon_hf.corpora.job.failures import Failure, death
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.state import Counts
from crayon_hf.errors import JobError

TRIES = 2
"""How often a task is begun whose worker dies; it goes on after its last finished shard."""


class Pool:
    """Processes that each work on one task at a time. Use it as a context: none of them outlives it."""

    def __init__(
        self,
        count: int,
        options: Options,
        tokenizer: JobTokenizer,
        batch_bytes: int,
        threads: int,
        lock: int,
    ) -> None:
        """`lock` is a descriptor that every worker holds open as long as it lives."""
        opened = tokenizer.tokenizer
        parcel = b"" if tokenizer.name else pickle.dumps((opened, opened.encode_special_tokens))
        self._setup = {
            "path": sys.path,
            "options": options._asdict(),
            "tokenizer": tokenizer.name,
            "pickled": base64.b64encode(parcel).decode(),
            "digest": tokenizer.digest,
            "batch_bytes": batch_bytes,
            "threads": threads,
        }
        self._count, self._lock = count, lock
        self._events: queue.SimpleQueue[tuple[_Worker, dict[str, Any]]] = queue.SimpleQueue()
        self._workers: set[_Worker] = set()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.wait()

    def run(
        self,
        tasks: Sequence[Task],
        progress: Callable[[Task, Counts], None],
        say: Callable[[str], None],
    ) -> list[Failure]:
        """Do all tasks, in order as far as several processes do; what failed. `say` gets what is to be known at once.

        After a failure that stops all, what is at work is given up and the rest is not begun.
        """
        waiting, tries = deque(tasks), dict.fromkeys((task.name for task in tasks), 0)
        failures: list[Failure] = []
        early = 0
        for _ in range(min(self._count, len(tasks))):
            self._start()
        while waiting or any(worker.task for worker in self._workers):
            worker, event = self._events.get()
            task, kind = worker.task, event["event"]
            if kind == "progress" and task is not None:
                progress(task, Counts(*event["counts"]))
            elif kind in ("done", "failed") and task is not None:
                worker.task = None
                if kind == "done":
                    progress(task, Counts(*event["counts"]))
                else:
                    failures.append(Failure(*event["failure"]))
            elif kind == "unfit":
                raise JobError(Failure(*event["failure"]).message)
            elif kind == "gone":
                self._workers.discard(worker)
                code = worker.wait()
                if not worker.is_ready:  # others may be at work, and go on
                    early += 1
                    ended = f"a worker ended before it began: exit code {code}"
                    if early < TRIES:
                        say(f"{ended}; another one is begun")
                        self._start()
                    elif not self._workers:
                        raise JobError(ended)
                    continue
                if task is not None:
                    failure = death(task.name, code)
                    if tries[task.name] < TRIES:
                        say(f"{failure.message}; it is begun again")
                        waiting.appendleft(task)
                    else:
                        failures.append(failure)
                if waiting:
                    self._start()
                continue
            worker.is_ready = True
            if failures and failures[-1].stops_all:
                break
            if kind in ("ready", "done", "failed") and waiting:
                worker.task = waiting.popleft()
                tries[worker.task.name] += 1
                worker.send(worker.task._asdict())
        return failures

    def _start(self) -> None:
        worker = _Worker(self._setup, self._lock, self._events)
        self._workers.add(worker)


class _Worker:
    """One process, and a thread that hears it."""

    def __init__(
        self, setup: dict[str, Any], lock: int, events: queue.SimpleQueue[tuple[_Worker, dict[str, Any]]]
    ) -> None:
        from crayon_hf.corpora.job.worker import START

        self.task: Task | None = None
        self.is_ready = False
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=() if os.name == "nt" else (lock,),
        )
        threading.Thread(target=self._hear, args=(events,), daemon=True).start()
        self.send(setup)

    def send(self, message: dict[str, Any]) -> None:
        """Give it a line; that it is gone is heard elsewhere."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """Whatever it does, it may be killed: that is what the order of effects is for."""
        self._process.kill()

    def wait(self) -> int:
        """Its exit code; a signal is negative."""
        code = self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        return code

    def _hear(self, events: queue.SimpleQueue[tuple[_Worker, dict[str, Any]]]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with contextlib.suppress(ValueError):  # the half of a line that a process had time for
                    events.put((self, json.loads(line)))
        events.put((self, {"event": "gone"}))

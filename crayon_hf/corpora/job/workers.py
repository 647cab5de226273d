"""The tasks of a job on this machine: in this process, or in several."""

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
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from crayon_hf.corpora.job.encoder import Encoding, JobTokenizer, plan_encoding
from crayon_hf.corpora.job.failures import Failure, death
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.state import Counts
from crayon_hf.corpora.job.task_threads import AT_ONCE, TaskThreads
from crayon_hf.errors import JobError

TRIES = 2
"""How often a task is begun whose worker dies; it goes on after its last finished shard."""


class Pool:
    """Workers that do tasks. Use it as a context: none of them outlives it."""

    def __init__(
        self,
        count: int,
        options: Options,
        tokenizer: JobTokenizer,
        batch_bytes: int,
        threads: int,
        lock: int,
    ) -> None:
        """`lock` is a descriptor that every process holds open as long as it lives. A single worker is this process."""
        self._count = count
        self._events: queue.SimpleQueue[tuple[_Worker, dict[str, Any]]] = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        if count == 1:
            encoding = plan_encoding(tokenizer, options, threads)
            self._make: Callable[[], _Worker] = lambda: _Here(self._events, options, encoding, batch_bytes)
            return
        opened = tokenizer.tokenizer
        parcel = b"" if tokenizer.name else pickle.dumps((opened, opened.encode_special_tokens))
        setup = {
            "path": sys.path,
            "options": options._asdict(),
            "tokenizer": tokenizer.name,
            "pickled": base64.b64encode(parcel).decode(),
            "digest": tokenizer.digest,
            "batch_bytes": batch_bytes,
            "threads": threads,
        }
        self._make = lambda: _Process(self._events, setup, lock)

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
        """Do all tasks, in order as far as several workers do; what failed. `say` gets what is to be known at once.

        After a failure that stops all, what is read already is still written, and no more.
        """
        deal = _Deal(tasks, self._workers)
        for _ in range(min(self._count, len(tasks))):
            self._workers.append(self._make())
        early = 0
        while deal.give():
            worker, event = self._events.get()
            kind, task = event["event"], worker.tasks.get(event.get("task", ""))
            if kind == "unfit":
                raise JobError(Failure(*event["failure"]).message)
            if kind == "gone":
                self._workers.remove(worker)
                code = worker.wait()
                if worker.is_ready:
                    for died in deal.gone(worker, code):
                        say(f"{died.message}; it is begun again")
                else:  # others may be at work, and go on
                    early += 1
                    ended = f"a worker ended before it began: exit code {code}"
                    if early >= TRIES:
                        if self._workers:
                            continue
                        raise JobError(ended)
                    say(f"{ended}; another one is begun")
                if deal.waiting:
                    self._workers.append(self._make())
                continue
            worker.is_ready = True
            if task is None:
                continue
            if kind in ("progress", "done"):
                progress(task, Counts(*event["counts"]))
            if kind == "failed":
                deal.failed(worker, task, Failure(*event["failure"]))
            elif kind == "done":
                deal.ended(worker, task)
            elif kind == "read":
                worker.reading = ""
        return deal.failures


class _Deal:
    """Which worker has which task."""

    def __init__(self, tasks: Sequence[Task], workers: list[_Worker]) -> None:
        """`workers` may change."""
        self.waiting = deque(tasks)
        self.failures: list[Failure] = []
        self._workers = workers
        self._tries = dict.fromkeys((task.name for task in tasks), 0)
        self._last: set[str] | None = None
        """Tasks that are waited for, after a failure that stops all."""

    def give(self) -> bool:
        """Give each worker a task that can have one; whether anything is to be waited for.

        What a worker died of is done alone: another task of the same worker may have nothing to do with it.
        """
        if self._last is not None:
            return bool(self._last)
        for worker in self._workers:
            if not self.waiting or not worker.is_ready or worker.reading or len(worker.tasks) == AT_ONCE:
                continue
            task = self.waiting[0]
            if worker.tasks and (self._tries[task.name] or any(self._tries[name] > 1 for name in worker.tasks)):
                continue
            self.waiting.popleft()
            self._tries[task.name] += 1
            worker.tasks[task.name], worker.reading = task, task.name
            worker.send(task)
        return bool(self.waiting) or any(worker.tasks for worker in self._workers)

    def ended(self, worker: _Worker, task: Task) -> None:
        """A worker has no more to do with a task."""
        del worker.tasks[task.name]
        if worker.reading == task.name:
            worker.reading = ""
        if self._last is not None:
            self._last.discard(task.name)

    def failed(self, worker: _Worker, task: Task, failure: Failure) -> None:
        """A task failed."""
        self.ended(worker, task)
        self.failures.append(failure)
        if failure.stops_all and self._last is None:
            self.waiting.clear()
            self._last = {name for each in self._workers for name in each.tasks if name != each.reading}

    def gone(self, worker: _Worker, code: int) -> list[Failure]:
        """A worker died; of which tasks, that are begun again."""
        again = []
        for task in list(reversed(worker.tasks.values())):
            self.ended(worker, task)
            failure = death(task.name, code)
            if self._last is not None:
                continue
            if self._tries[task.name] < TRIES:
                again.append(failure)
                self.waiting.appendleft(task)
            else:
                self.failures.append(failure)
        return again


class _Worker(ABC):
    """What does tasks. It puts what happens to them beside itself into a queue."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        """By their names, in the order in which it got them."""
        self.reading = ""
        """The task that is read."""
        self.is_ready = False

    @abstractmethod
    def send(self, task: Task) -> None:
        """Give it a task; that it is gone is heard elsewhere."""

    @abstractmethod
    def kill(self) -> None:
        """Whatever it does, it may be killed: that is what the order of effects is for."""

    @abstractmethod
    def wait(self) -> int:
        """When it has ended: its exit code; a signal is negative."""


class _Here(_Worker):
    """Threads of this process."""

    def __init__(
        self,
        events: queue.SimpleQueue[tuple[_Worker, dict[str, Any]]],
        options: Options,
        encoding: Encoding,
        batch_bytes: int,
    ) -> None:
        super().__init__()
        self.is_ready = True
        self._threads = TaskThreads(options, encoding, batch_bytes, lambda **event: events.put((self, event)))

    def send(self, task: Task) -> None:
        self._threads.begin(task)

    def kill(self) -> None:
        self._threads.stop()

    def wait(self) -> int:
        return 0


class _Process(_Worker):
    """A process, and a thread that hears it."""

    def __init__(
        self, events: queue.SimpleQueue[tuple[_Worker, dict[str, Any]]], setup: dict[str, Any], lock: int
    ) -> None:
        from crayon_hf.corpora.job.worker import START

        super().__init__()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=() if os.name == "nt" else (lock,),
        )
        threading.Thread(target=self._hear, args=(events,), daemon=True).start()
        self._write(setup)

    def send(self, task: Task) -> None:
        self._write(task._asdict())

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
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

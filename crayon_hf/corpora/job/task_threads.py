"""The tasks of one process, two at once: while one is brought to the disk, the next one is read and encoded."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from crayon_hf.corpora.job.failures import failure_of
from crayon_hf.corpora.job.prefetch import Stopped, Turn
from crayon_hf.corpora.job.shard import run_shard

if TYPE_CHECKING:
    from crayon_hf.corpora.job.encoder import Encoding
    from crayon_hf.corpora.job.options import Options
    from crayon_hf.corpora.job.plan import Task
    from crayon_hf.corpora.job.state import Counts


class Tell(Protocol):
    """Is told what happens, by any thread: ``progress`` (with `counts`), ``read``, ``done`` (with `counts`), ``failed``
    (with a `failure`), each of the `task` of that name."""

    def __call__(self, **event: Any) -> None: ...


AT_ONCE = 2
"""Tasks of a worker."""


class TaskThreads:
    """Does tasks, AT_ONCE at most. Whoever begins them waits until the last one is ``read``: they share the cores."""

    def __init__(self, options: Options, encoding: Encoding, batch_bytes: int, tell: Tell, every: float = 0.0) -> None:
        """`every`: seconds between two reports of how far a task is."""
        self._options, self._encoding, self._batch_bytes = options, encoding, batch_bytes
        self._tell, self._every = tell, every
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(AT_ONCE)]
        for thread in self._threads:
            thread.start()

    def begin(self, task: Task) -> None:
        """Begin a task."""
        self._tasks.put(task)

    def stop(self) -> None:
        """Give up what has begun, and wait until it has ended."""
        self._stop.set()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stop.is_set():
            self._do(task)

    def _do(self, task: Task) -> None:
        told = 0.0

        def progress(counts: Counts) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= self._every:
                told = now
                self._tell(event="progress", task=task.name, counts=counts)

        turn = Turn(lambda: self._tell(event="read", task=task.name), self._stop.is_set)
        try:
            summary = run_shard(
                task.files, task.output, self._options, self._encoding, self._batch_bytes, False, progress, turn
            )
            self._tell(event="done", task=task.name, counts=summary.counts)
        except Stopped:
            pass
        except Exception as error:
            self._tell(event="failed", task=task.name, failure=failure_of(error))

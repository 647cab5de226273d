"""The tasks of one process, two at once: while one is brought to the disk, the next one is read and encoded."""

from __future__ import annotations

import contextlib
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from crayon_hf.corpora.job.failures import failure_of
from crayon_hf.corpora.job.shard import run_shard
from crayon_hf.corpora.storage import waiting

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
_LOOKED = 0.2
"""Seconds between two looks whether all has ended, at most."""


class TaskThreads:
    """Does tasks, AT_ONCE at most. Whoever begins them waits until the last one is ``read``: they share the cores."""

    def __init__(self, options: Options, encoding: Encoding, batch_bytes: int, tell: Tell, every: float = 0.0) -> None:
        """`every`: seconds between two reports of how far a task is."""
        self._options, self._encoding, self._batch_bytes = options, encoding, batch_bytes
        self._tell, self._every = tell, every
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, name="crayon-task", daemon=True) for _ in range(AT_ONCE)]
        self._at_work = set(self._threads)
        self._ended: SimpleQueue[None] = SimpleQueue()
        for thread in self._threads:
            thread.start()

    def begin(self, task: Task) -> None:
        """Begin a task."""
        self._tasks.put(task)

    def stop(self) -> None:
        """Give up what has begun, and wait until it has ended. An interrupt waits for that, too: what went on would
        write when others may."""
        interrupt: BaseException | None = None
        while True:
            try:
                self._wait()
                break
            except BaseException as error:
                interrupt = error
        for thread in self._threads:
            thread.join()
        if interrupt is not None:
            raise interrupt

    def _wait(self) -> None:
        self._stop.set()
        for _ in self._threads:
            self._tasks.put(None)
        while self._at_work:  # no `join`: up to Python 3.12 a thread counts as ended whose `join` is interrupted
            with contextlib.suppress(Empty):
                self._ended.get(timeout=_LOOKED)

    def _run(self) -> None:
        waiting.give_up_at(self._stop)
        try:
            while (task := self._tasks.get()) is not None and not self._stop.is_set():
                self._do(task)
        finally:
            self._at_work.discard(threading.current_thread())
            self._ended.put(None)

    def _do(self, task: Task) -> None:
        told = 0.0

        def progress(counts: Counts) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= self._every:
                told = now
                self._tell(event="progress", task=task.name, counts=counts)

        def has_read() -> None:
            self._tell(event="read", task=task.name)

        try:
            summary = run_shard(
                task.files, task.output, self._options, self._encoding, self._batch_bytes, False, progress, has_read
            )
            self._tell(event="done", task=task.name, counts=summary.counts)
        except waiting.Stopped:
            pass
        except BaseException as error:  # whoever waits for the task has to hear of it, whatever it is
            self._tell(event="failed", task=task.name, failure=failure_of(error))

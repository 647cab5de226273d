"""The threads of a `Pipeline`, and the items that pass through them.

Backpressure: only `put` waits, while too many items have not passed some stage. So the queues between stages need no
bound, and no stage waits for the next one. Executors of ``concurrent.futures`` would be two to three times slower,
because they create a future for each item and stage.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

from crayon_hf.errors import PipelineClosedError


class Failed(NamedTuple):
    """The result of an item for which a stage failed."""

    key: Any
    stage: str
    error: BaseException


class StageStatistics(NamedTuple):
    """The work of a stage so far."""

    items: int
    failed: int
    seconds: float


class Item:
    """A text in progress."""

    __slots__ = ("key", "number", "value")

    def __init__(self, key: Any, value: Any, number: int) -> None:
        self.key, self.value, self.number = key, value, number


class Stage:
    """A step: ``work(key, value)`` in `workers` threads. If it `sorts`, it handles items in order of their numbers."""

    def __init__(self, name: str, work: Callable[[Any, Any], Any], workers: int = 1, sorts: bool = False) -> None:
        self.name, self.workers = name, workers
        self._work, self._sorts = work, sorts
        self._queue: SimpleQueue[Item | None] = SimpleQueue()
        self._lock = threading.Lock()
        self.passed = 0
        """The number of items that the stage has passed on."""
        self._running = workers
        self._items = self._failed = 0
        self._seconds = 0.0

    def put(self, item: Item) -> None:
        self._queue.put(item)

    def end(self) -> None:
        """Tell the threads that no more items come."""
        for _ in range(self.workers):
            self._queue.put(None)

    def arrivals(self) -> Iterator[Item]:
        """Yield the items that are put, until `end` is called. If the stage `sorts`, yield them in order of numbers."""
        early: dict[int, Item] = {}
        number = 0
        for item in iter(self._queue.get, None):
            if not self._sorts:
                yield item
                continue
            early[item.number] = item
            while number in early:
                yield early.pop(number)
                number += 1

    def count(self) -> None:
        """Count an item that the stage passes on."""
        with self._lock:
            self.passed += 1

    def leave(self) -> bool:
        """Called by a thread that ends. Returns True for the last thread of the stage."""
        with self._lock:
            self._running -= 1
            return self._running == 0

    def do(self, item: Item) -> None:
        """Replace the item's value by the result, or by a `Failed`."""
        began = time.perf_counter()
        try:
            item.value = self._work(item.key, item.value)
        except BaseException as error:  # even SystemExit affects only the item: the thread continues
            item.value = Failed(item.key, self.name, error)
        seconds = time.perf_counter() - began
        with self._lock:
            self._items += 1
            self._failed += isinstance(item.value, Failed)
            self._seconds += seconds

    def statistics(self) -> StageStatistics:
        with self._lock:
            return StageStatistics(self._items, self._failed, self._seconds)


class Stages:
    """The stages, their threads, and the items in progress."""

    def __init__(self, stages: Sequence[Stage], depth: int) -> None:
        self._stages = stages
        rooms = itertools.accumulate(depth + stage.workers for stage in stages)
        self._rooms = [*zip(stages, rooms, strict=True)]
        """Each stage, with the most submitted items that may not have passed it yet."""
        self._room = self._rooms[-1][1] + depth
        """The most submitted items whose results the caller may not have fetched yet."""
        self._count = self._fetched = self._waiting = 0
        self._unfinished: dict[int, Item] = {}
        """Items without a result, by number."""
        self._results: deque[Any] = deque()
        # Reentrant, because the garbage collector may stop a pipeline in any thread, at any place.
        lock = threading.RLock()
        self._room_or_end, self._result_or_end = threading.Condition(lock), threading.Condition(lock)
        self._threads: list[threading.Thread] = []
        self._process: int | None = None
        """The id of the process that started the threads, or None before that."""
        self.is_closed = self._is_cancelled = False

    @property
    def is_idle(self) -> bool:
        """Whether no items are in progress and no results wait."""
        with self._result_or_end:
            return not self._unfinished and not self._results

    def put(self, key: Any, value: Any, timeout: float | None) -> bool:
        """Add an item. Return False if the queues stay full until the timeout."""
        self.start()
        with self._room_or_end:
            self._waiting += 1
            try:
                if not self._room_or_end.wait_for(lambda: self.is_closed or self._has_room(), timeout):
                    return False
            finally:
                self._waiting -= 1
            self._check_open()
            item = self._unfinished[self._count] = Item(key, value, self._count)
            self._count += 1
            self._stages[0].put(item)
            return True

    def get(self, timeout: float | None) -> Any:
        """Return the next result. Raises TimeoutError after `timeout` seconds."""
        self._check_process()
        with self._result_or_end:
            if not self._result_or_end.wait_for(lambda: self._results or self._is_at_its_end(), timeout):
                raise TimeoutError
            if not self._results:
                raise PipelineClosedError("the pipeline is closed, and all of its results were fetched")
            self._fetched += 1
            self._room_or_end.notify_all()
            return self._results.popleft()

    def forget(self) -> None:
        """Drop the results of all items put so far."""
        with self._room_or_end:
            self._unfinished.clear()
            self._fetched += len(self._results)
            self._results.clear()
            self._room_or_end.notify_all()

    def statistics(self) -> dict[str, StageStatistics]:
        return {stage.name: stage.statistics() for stage in self._stages}

    # -- life

    def start(self) -> None:
        """Start the threads, if they do not run."""
        self._check_process()
        if self._threads and not self.is_closed:
            return
        with self._room_or_end:
            self._check_open()
            if self._threads:
                return
            _running.add(self)
            self._process = os.getpid()
            for number, stage in enumerate(self._stages):
                for _ in range(stage.workers):
                    name = f"crayon_hf pipeline: {stage.name}"
                    # A daemon thread, so that the exiting interpreter reaches `_stop_all`, which ends the thread.
                    self._threads.append(threading.Thread(target=self._run, args=(number,), name=name, daemon=True))
            try:
                for thread in self._threads:
                    thread.start()
            except BaseException:  # the system refuses more threads
                self._threads = [thread for thread in self._threads if thread.ident is not None]
                self.stop()
                raise

    def close(self) -> None:
        """Finish the items in progress and end the threads."""
        if self._is_here:
            self._end()
            self._join()

    def cancel(self) -> list[Any]:
        """End the threads. Returns the keys of unfinished items."""
        if not self._is_here:
            return []
        self.stop()
        self._join()
        with self._result_or_end:
            undone = [item.key for item in self._unfinished.values()]
            self._unfinished.clear()
            self._result_or_end.notify_all()
        return undone

    def stop(self) -> None:
        """Tell the threads to end without waiting. The garbage collector may call this in any thread."""
        if self._is_here:
            self._is_cancelled = True
            self._end()

    def stop_at_exit(self) -> None:
        """End the threads at exit: they must not be in the engine when the interpreter shuts down."""
        self.stop()
        if self._is_here:
            self._join()

    def _end(self) -> None:
        with self._room_or_end:
            if not self.is_closed:
                self.is_closed = True
                self._stages[0].end()
            self._room_or_end.notify_all()
            self._result_or_end.notify_all()

    def _join(self) -> None:
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        _running.discard(self)

    def _run(self, number: int) -> None:
        """The loop of a stage's thread."""
        stage, after = self._stages[number], self._stages[number + 1 : number + 2]
        for item in stage.arrivals():
            if self._is_cancelled:
                continue
            if item.number in self._unfinished and not isinstance(item.value, Failed):
                stage.do(item)
            stage.count()
            if not after:
                self._finish(item)
            for each in after:
                each.put(item)
                if self._waiting:
                    with self._room_or_end:
                        self._room_or_end.notify_all()
        if stage.leave():
            for each in after:
                each.end()

    def _finish(self, item: Item) -> None:
        with self._room_or_end:
            if self._unfinished.pop(item.number, None) is None:
                self._fetched += 1  # `forget` has dropped the item
            else:
                self._results.append(item.value)
                self._result_or_end.notify_all()
            self._room_or_end.notify_all()

    def _has_room(self) -> bool:
        has_room = all(self._count - stage.passed < room for stage, room in self._rooms)
        return has_room and self._count - self._fetched < self._room

    def _is_at_its_end(self) -> bool:
        return self.is_closed and not self._unfinished

    @property
    def _is_here(self) -> bool:
        """Whether the threads are in this process. A forked child lacks them, and may have inherited a locked lock."""
        return self._process in (None, os.getpid())

    def _check_open(self) -> None:
        if self.is_closed:
            raise PipelineClosedError("the pipeline is closed: make another one")

    def _check_process(self) -> None:
        if not self._is_here:
            raise PipelineClosedError(
                "the threads of this pipeline are in the parent process: make one in this process"
            )


_running: weakref.WeakSet[Stages] = weakref.WeakSet()


def _stop_all() -> None:
    for stages in list(_running):
        stages.stop_at_exit()


atexit.register(_stop_all)

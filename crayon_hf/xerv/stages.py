"""The threads of a `Pipeline` and the items that go through them."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from crayon_hf.errors import PipelineClosedError
from crayon_hf.xerv.bounded_queue import Channel, Ended, OrderedChannel


class Failed(NamedTuple):
    """The result of an item that a stage could not do."""

    key: Any
    stage: str
    error: BaseException


class StageStatistics(NamedTuple):
    """What a stage has done so far."""

    items: int
    failed: int
    seconds: float


class Claim:
    """Whose items they are: those of one `map`. Nobody wants them any more once it was given up."""

    is_given_up = False


class Item:
    """A text on its way."""

    __slots__ = ("claim", "key", "number", "value")

    def __init__(self, key: Any, value: Any, claim: Claim | None) -> None:
        self.key, self.value, self.claim = key, value, claim
        self.number = -1

    @property
    def is_wanted(self) -> bool:
        return self.claim is None or not self.claim.is_given_up


class Stage:
    """One step. Its threads run `work(key, value)`; with `ordered` they hand items on in the order of their numbers."""

    def __init__(self, name: str, work: Callable[[Any, Any], Any], workers: int = 1, ordered: bool = True) -> None:
        self.name, self.workers = name, workers
        self.is_ordered = ordered or workers == 1
        self._work = work
        self._lock = threading.Lock()
        self._running = workers
        self._items = self._failed = 0
        self._seconds = 0.0

    def run(self, source: Channel[Item], sink: Channel[Item], admit: Callable[[Item], bool] | None) -> None:
        """What each of its threads does, until the source ends. `admit` is that of the sink's `put`."""
        try:
            while True:
                item = source.get()
                if item.is_wanted and not isinstance(item.value, Failed):
                    self._do(item)
                sink.put(item, None, admit)
        except Ended:
            pass
        finally:
            with self._lock:
                self._running -= 1
                is_last = self._running == 0
            if is_last:
                sink.end()

    def statistics(self) -> StageStatistics:
        with self._lock:
            return StageStatistics(self._items, self._failed, self._seconds)

    def _do(self, item: Item) -> None:
        began = time.perf_counter()
        try:
            item.value = self._work(item.key, item.value)
        except BaseException as error:  # even SystemExit is a matter of the item: the thread goes on
            item.value = Failed(item.key, self.name, error)
        seconds = time.perf_counter() - began
        with self._lock:
            self._items += 1
            self._failed += isinstance(item.value, Failed)
            self._seconds += seconds


class Stages:
    """The stages, the channels around them, and what is on its way."""

    def __init__(self, stages: Sequence[Stage], depth: int) -> None:
        self._stages = stages
        self._input: Channel[Item] = Channel(depth)
        self._sinks: list[Channel[Item]] = [
            OrderedChannel(depth + stage.workers) if stage.workers > 1 and stage.is_ordered else Channel(depth)
            for stage in stages
        ]
        self._output = self._sinks[-1]
        self._lock = threading.RLock()
        self._threads: list[threading.Thread] = []
        self._process: int | None = None
        """Where the threads are, once there are any."""
        self._unfinished: dict[int, Item] = {}
        """What was put and has no result yet, by its number."""
        self._count = 0
        self.is_closed = False

    @property
    def is_idle(self) -> bool:
        """True when nothing is on its way, and no result waits."""
        return not self._wanted() and not len(self._output)  # looked at in the order in which an item is there

    def put(self, key: Any, value: Any, timeout: float | None, claim: Claim | None = None) -> bool:
        """False when there was no room in time."""
        self.start()
        try:
            return self._input.put(Item(key, value, claim), timeout, self._enter)
        except Ended:
            raise _closed() from None

    def get(self, timeout: float | None) -> Any:
        """The next result. TimeoutError when none came in time."""
        self._check_process()
        try:
            return self._output.get(timeout).value
        except Ended:
            raise PipelineClosedError("the pipeline is closed, and all of its results were fetched") from None

    def forget(self, claim: Claim) -> None:
        """Give no result of these items."""
        claim.is_given_up = True
        self._output.discard(lambda item: item.claim is claim)

    def statistics(self) -> dict[str, StageStatistics]:
        return {stage.name: stage.statistics() for stage in self._stages}

    # -- life

    def start(self) -> None:
        """Start the threads, if they are not there yet."""
        self._check_process()
        if self._threads and not self.is_closed:
            return
        with self._lock:
            if self.is_closed:
                raise _closed()
            if self._threads:
                return
            _running.add(self)
            self._process = os.getpid()
            source = self._input
            for stage, sink in zip(self._stages, self._sinks, strict=True):
                admit = self._leave if sink is self._output else None
                for _ in range(stage.workers):
                    name = f"crayon_hf pipeline: {stage.name}"
                    # A daemon, so that the interpreter can come to the function below that ends it.
                    self._threads.append(
                        threading.Thread(target=stage.run, args=(source, sink, admit), name=name, daemon=True)
                    )
                source = sink
            try:
                for thread in self._threads:
                    thread.start()
            except BaseException:  # no more threads can be had
                self.stop()
                self._output.end()
                raise

    def close(self) -> None:
        """Finish what is on its way, and end the threads."""
        if not self._is_here:
            return
        with self._lock:
            self.is_closed = True
            if not self._threads:
                self._output.end()
        self._input.end()
        self._output.unbound()  # nobody may be there to fetch what is left
        self._join()

    def cancel(self) -> list[Any]:
        """End the threads; the keys of what was not finished."""
        if not self._is_here:
            return []
        self.stop()
        self._join()
        unfinished = self._wanted()
        self._unfinished.clear()
        return [item.key for item in unfinished]

    def stop(self) -> None:
        """Tell the threads to end, and wait for nothing: the garbage collector may call this in any thread."""
        if not self._is_here:
            return
        self.is_closed = True
        for channel in (self._input, *self._sinks[:-1]):
            channel.cancel()
        self._output.unbound()
        if not self._threads:
            self._output.end()

    def _join(self) -> None:
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join()
        _running.discard(self)

    def stop_at_exit(self) -> None:
        """A thread that is still in the engine when the interpreter goes would be torn out of it."""
        self.stop()
        if self._is_here:
            self._join()

    def _enter(self, item: Item) -> bool:
        item.number = self._count
        self._count += 1
        self._unfinished[item.number] = item
        return True

    def _leave(self, item: Item) -> bool:
        del self._unfinished[item.number]
        return item.is_wanted

    def _wanted(self) -> list[Item]:
        return [item for item in list(self._unfinished.values()) if item.is_wanted]

    @property
    def _is_here(self) -> bool:
        """False in a child of a fork that came later: it has none of the threads, and a lock may be held for ever."""
        return self._process in (None, os.getpid())

    def _check_process(self) -> None:
        if not self._is_here:
            raise PipelineClosedError(
                "the threads of this pipeline are in the parent process: make one in this process"
            )


def _closed() -> PipelineClosedError:
    return PipelineClosedError("the pipeline is closed: make another one")


_running: weakref.WeakSet[Stages] = weakref.WeakSet()


def _stop_all() -> None:
    for stages in list(_running):
        stages.stop_at_exit()


atexit.register(_stop_all)

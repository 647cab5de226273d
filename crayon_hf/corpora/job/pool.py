"""The tasks of a job on this machine: in threads of this process, or in several processes."""

from __future__ import annotations

import contextlib
import functools
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from crayon_hf import _core
from crayon_hf.corpora.job.encoder import Encoding, Work, plan_encoding
from crayon_hf.corpora.job.failures import Failure, death, failure_of
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.shard import ShardSummary, do_task, taking_turns
from crayon_hf.corpora.job.state import Counts
from crayon_hf.corpora.job.worker import AT_ONCE, START, Setup
from crayon_hf.corpora.storage import stopping
from crayon_hf.text_readers.documents import format_of

TRIES = 2
"""How often a task is begun whose worker dies; it goes on after its last finished shard."""

Told = tuple[Task, "Counts | ShardSummary | Failure"]


def run_here(
    tasks: Sequence[Task],
    work: Work,
    progress: Callable[[Task, Counts], None],
    *,
    workers: int | None,
    threads: int | None,
) -> list[tuple[Task, ShardSummary | Failure]]:
    """What came of each task. After a failure that stops all, tasks that have nothing left to read are done, and no
    others; after an error here none is."""
    available = _core.usable_cores()
    addresses = (address for task in tasks for address in (task.output, *(file.address for file in task.files)))
    in_memory = any(address.startswith("memory:") for address in addresses)  # of this process
    count = 1 if in_memory else min(len(tasks), workers or _workers(tasks, available))
    each = max(1, available // count) if threads is None else threads
    pool: _Threads | _Processes
    pool = _Threads(tasks, plan_encoding(work, each)) if count == 1 else _Processes(count, tasks, Setup.of(work, each))
    results: list[tuple[Task, ShardSummary | Failure]] = []
    left, is_over = len(tasks), False
    try:
        while len(results) < left:
            task, what = pool.told.get()
            if isinstance(what, Failure):
                results.append((task, what))
                if what.stops_all and not is_over:
                    is_over = True
                    left -= pool.give_up()
            elif isinstance(what, Counts):
                progress(task, what)
            else:
                results.append((task, what))
                progress(task, what.counts)
    finally:
        pool.end()
    return [each for each in results if not (isinstance(each[1], Failure) and each[1].kind == "stopped")]


def _workers(tasks: Sequence[Task], cores: int) -> int:
    """One thread unpacks most files, so packed ones get a process for each core; else two cores share the reading."""
    packed = any(format_of(file.address)[1] for task in tasks for file in task.files)
    return cores if packed else (cores + 1) // 2


class _Threads:
    """Tasks in this process."""

    def __init__(self, tasks: Sequence[Task], encoding: Encoding) -> None:
        self.told: SimpleQueue[Told] = SimpleQueue()
        self._encoding, self._stop = encoding, threading.Event()
        self._gate, self._is_over = threading.Lock(), threading.Event()
        self._pool = ThreadPoolExecutor(AT_ONCE, "crayon-task", stopping.stop_at, (self._stop,))
        self._futures: list[Future[None]] = [self._pool.submit(self._do, task) for task in tasks]

    def _do(self, task: Task) -> None:
        self._gate.acquire()  # tasks share the cores: the next one begins when the last one has nothing left to read
        has_read = functools.cache(self._gate.release)
        in_turn = taking_turns(self._is_over.is_set, has_read)
        what = do_task(task, self._encoding, lambda counts: self.told.put((task, counts)), in_turn)
        has_read()
        self.told.put((task, what))

    def give_up(self) -> int:
        """Let no task read on; how many will never be told of."""
        self._is_over.set()
        return sum(future.cancel() for future in self._futures)

    def end(self) -> None:
        """Stop the tasks, and wait until they have ended. An interrupt waits for that, too: no thread writes after
        the call has ended."""
        interrupt: BaseException | None = None
        self._stop.set()
        while True:
            try:
                running = [future for future in self._futures if not future.cancel()]
                while not all(
                    future.done() for future in running
                ):  # a wait that is interrupted may raise another error
                    time.sleep(0.02)
                self._pool.shutdown()
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt


class _Processes:
    """Tasks in processes. A thread for each gives it tasks, hears it, and begins another one if it dies."""

    def __init__(self, count: int, tasks: Sequence[Task], setup: Setup) -> None:
        self.told: SimpleQueue[Told] = SimpleQueue()
        self._setup = pickle.dumps(sys.path) + pickle.dumps(setup)
        self._waiting, self._tries = deque(tasks), Counter[str]()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_over = self._given_up = False
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(count, "crayon-worker")
        for _ in range(count):
            self._pool.submit(self._serve)

    def give_up(self) -> int:
        """Let no task read on; how many will never be told of."""
        with self._lock:
            dropped = len(self._waiting)
            self._waiting.clear()
            self._given_up = True
            for process in self._processes:
                self._write(process, pickle.dumps(None))
        return dropped

    def end(self) -> None:
        """Kill the processes, whatever they do: that is what the order of effects is for."""
        with self._lock:
            self._is_over = True
            for process in self._processes:
                process.kill()
        self._pool.shutdown()

    def _serve(self) -> None:
        """Have one process after the other do tasks, until none is left."""
        in_hand: dict[str, Task] = {}
        try:
            while (process := self._begin()) is not None:
                with contextlib.suppress(BrokenPipeError), process:
                    has_read: set[str] = set()
                    self._give(process, in_hand)
                    while in_hand and (event := self._hear(process)) is not None:
                        name, what = event
                        if what is None:
                            has_read.add(name)
                        else:
                            self.told.put((in_hand[name], what))
                        if isinstance(what, (ShardSummary, Failure)):
                            del in_hand[name]
                        if len(in_hand) < AT_ONCE and in_hand.keys() <= has_read:
                            self._give(process, in_hand)
                    if not in_hand:
                        process.kill()
                with self._lock:
                    self._processes.discard(process)
                    self._died(in_hand, process.returncode)
        except Exception as error:  # a process that cannot be made
            with self._lock:
                left = [*in_hand.values(), *self._waiting]
                self._waiting.clear()
            for task in left:
                self.told.put((task, failure_of(error)))

    def _begin(self) -> subprocess.Popen[bytes] | None:
        """A new process; None where there is nothing to do."""
        with self._lock:
            if self._is_over or not self._waiting:
                return None
            command = [sys.executable, "-I", "-c", START]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._write(process, self._setup)
        with self._lock:  # only now, so that nothing goes there before what it begins with
            self._processes.add(process)
        return process

    def _give(self, process: subprocess.Popen[bytes], in_hand: dict[str, Task]) -> None:
        """Give it a task. One that a process died of is done alone: another one may have nothing to do with it."""
        with self._lock:
            if not self._waiting or self._is_over:
                return
            task = self._waiting[0]
            if in_hand and (self._tries[task.name] or any(self._tries[name] > 1 for name in in_hand)):
                return
            self._waiting.popleft()
            self._tries[task.name] += 1
        in_hand[task.name] = task
        self._write(process, pickle.dumps(task))

    def _died(self, in_hand: dict[str, Task], code: int) -> None:
        """Begin again what a process had in hand, or say that it died of it."""
        for task in reversed(in_hand.values()):
            failure = death(task.name, code)
            if self._is_over:
                continue
            if self._tries[task.name] < TRIES and not self._given_up:
                print(f"crayon-hf: warning: {failure.message}; it is begun again", file=sys.stderr)
                self._waiting.appendleft(task)
            else:
                self.told.put((task, failure))
        in_hand.clear()

    def _write(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended, and nothing goes there any more
            process.stdin.write(data)
            process.stdin.flush()

    def _hear(self, process: subprocess.Popen[bytes]) -> Any:
        """What it tells next; None when it has ended."""
        try:
            return pickle.load(process.stdout)  # type: ignore[arg-type]
        except (EOFError, pickle.UnpicklingError):  # the half of one that it had time for
            return None

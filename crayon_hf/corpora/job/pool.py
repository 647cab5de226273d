"""The tasks of a job on this machine: in threads of this process, or in several processes, which run `main`."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NoReturn

from crayon_hf import _core
from crayon_hf.corpora import distribute
from crayon_hf.corpora.job.encoder import Encoding, Sent, Work, plan_encoding
from crayon_hf.corpora.job.failures import Failure, death, failure_of
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.shard import ShardSummary, do_task, taking_turns
from crayon_hf.corpora.job.state import Counts
from crayon_hf.corpora.storage import stopping
from crayon_hf.errors import AmbiguousNameWarning, DelegatedWarning
from crayon_hf.text_readers.documents import format_of

TRIES = 2
"""How often a task is begun whose worker dies; its finished shards stay."""

START = "import sys; sys.path[:] = sys.argv[1:]; from crayon_hf.corpora.job.pool import main; main(sys.stdin.buffer)"
"""What the interpreter of a process is given to run, with the path to import from as its arguments."""
AT_ONCE = 2
"""Tasks of a process: while the files of one are brought to the disk, the next one is read."""
_EVERY = 0.1
"""Seconds between two reports of how far a task is."""

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
    pool = (
        _Threads(tasks, plan_encoding(work, each)) if count == 1 else _Processes(count, tasks, (*Sent.here(work), each))
    )
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

    def __init__(self, count: int, tasks: Sequence[Task], setup: tuple[Sent, distribute.Parcel | None, int]) -> None:
        self.told: SimpleQueue[Told] = SimpleQueue()
        self._setup = pickle.dumps(setup)
        self._waiting, self._tries = deque(tasks), Counter[str]()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_over = self._given_up = False
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(count, "crayon-worker", _shield)
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
            command = [sys.executable, "-I", "-c", START, *sys.path]
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


def _shield() -> None:
    """An interrupt from a terminal is a matter of who started us, and not of the processes that this thread begins, in
    which it stays blocked."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def main(messages: Any) -> NoReturn:
    """A process that does tasks: it gets them as pickles on standard input, and tells of them on standard output.

    It ends when its input does, that is, when the process that started it ends, in whatever way. `messages`: what
    to encode with, then tasks; None where no task may read on.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where a thread cannot block it
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is not an event
    for category in (AmbiguousNameWarning, DelegatedWarning):
        warnings.simplefilter("ignore", category)  # the process that started this one has said it
    telling, is_over = threading.Lock(), threading.Event()

    def tell(name: str, what: Any) -> None:
        with telling:
            pickle.dump((name, what), events)
            events.flush()

    def do(task: Task) -> None:
        told = 0.0

        def progress(counts: Counts) -> None:
            nonlocal told
            if time.monotonic() - told >= _EVERY:
                told = time.monotonic()
                tell(task.name, counts)

        if plan is None:
            tell(task.name, failure)
        else:
            in_turn = taking_turns(is_over.is_set, lambda: tell(task.name, None))
            tell(task.name, do_task(task, plan, progress, in_turn))

    plan = None
    try:
        sent, parcel, count = pickle.load(messages)
        plan = sent.plan(lambda: parcel, count)
    except Exception as error:
        failure = failure_of(error)
    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        while True:
            task = pickle.load(messages)
            if task is None:
                is_over.set()
            else:
                threads.submit(do, task)
    finally:
        os._exit(0)

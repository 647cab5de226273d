"""The tasks of a job on this machine, in threads of this process or in several processes, which run `main`."""

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
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NoReturn

from crayon_hf import _core
from crayon_hf.corpora import distribute
from crayon_hf.corpora.job.encoder import Encoding, Work, plan_encoding
from crayon_hf.corpora.job.failures import Failure, death, failure_of
from crayon_hf.corpora.job.job_spec import Task
from crayon_hf.corpora.job.shard import ShardSummary, do_task
from crayon_hf.corpora.job.state import Counts
from crayon_hf.corpora.storage import stopping
from crayon_hf.errors import AmbiguousNameWarning, CartridgeError, DelegatedWarning
from crayon_hf.text_readers.documents import format_of

TRIES = 2
"""The most times that a task is tried if its worker dies."""

START = "import sys; sys.path[:] = sys.argv[1:]; from crayon_hf.corpora.job.pool import main; main(sys.stdin.buffer)"
"""The program of a worker process; its arguments are the import path."""
AT_ONCE = 2
"""Tasks that a process runs at a time: it reads one while it syncs the files of the other to disk."""
_TO_END = 5.0
"""Seconds for a process to remove its temporary files when the job ends early."""
_EVERY = 0.1
"""Seconds between two progress reports of a task."""

Told = tuple[Task, "Counts | ShardSummary | Failure"]


def run_here(
    tasks: Sequence[Task],
    work: Work,
    progress: Callable[[Task, Counts], None],
    *,
    workers: int | None,
    threads: int | None,
) -> list[tuple[Task, ShardSummary | Failure]]:
    """Run the tasks and return their results. A failure that stops the job, or an error, ends all tasks."""
    available = _core.usable_cores()
    inputs = [file.address for task in tasks for file in task.files]
    if any(address.startswith("memory:") for address in (tasks[0].output, *inputs)):  # other processes cannot see it
        workers = 1
    is_packed = any(format_of(address)[1] for address in inputs)  # only one thread of a process unpacks
    count = min(len(tasks), workers or (available if is_packed else (available + 1) // 2))
    each = max(1, available // count) if threads is None else threads
    pool: _Threads | _Processes
    if count == 1:
        pool = _Threads(tasks, plan_encoding(work, each))
    else:
        sent, parcel = work.sent()
        needed = None if distribute.is_here(sent.tokenizer.tokenizer) else parcel
        pool = _Processes(count, tasks, (sent, needed, each))
    results: list[tuple[Task, ShardSummary | Failure]] = []
    try:
        while len(results) < len(tasks):
            task, what = pool.told.get()
            if isinstance(what, Counts):
                progress(task, what)
                continue
            results.append((task, what))
            if isinstance(what, Failure) and what.stops_all:
                break
            if isinstance(what, ShardSummary):
                progress(task, what.counts)
    finally:
        pool.end()
    return results


class _Threads:
    """Runs tasks in threads of this process."""

    def __init__(self, tasks: Sequence[Task], encoding: Encoding) -> None:
        self.told: SimpleQueue[Told] = SimpleQueue()
        self._encoding, self._stop, self._gate = encoding, threading.Event(), threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, "crayon-task", stopping.stop_at, (self._stop,))
        self._futures = [self._pool.submit(self._do, task) for task in tasks]

    def _do(self, task: Task) -> None:
        self._gate.acquire()  # tasks share the cores: the next begins when this one has read its input
        has_read = functools.cache(self._gate.release)
        what = do_task(task, self._encoding._replace(has_read=has_read), lambda counts: self.told.put((task, counts)))
        has_read()
        self.told.put((task, what))

    def end(self) -> None:
        """Stop the tasks and wait for their end, even after an interrupt: no thread may write once the call returns."""
        interrupt: BaseException | None = None
        self._stop.set()
        while True:
            try:
                running = [future for future in self._futures if not future.cancel()]
                while not all(future.done() for future in running):  # an interrupted wait may raise another error
                    time.sleep(0.02)
                self._pool.shutdown()
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt


class _Processes:
    """Runs tasks in processes. A thread for each process sends tasks, receives reports, and replaces a dead process."""

    def __init__(self, count: int, tasks: Sequence[Task], setup: tuple[Work, distribute.Parcel | None, int]) -> None:
        self.told: SimpleQueue[Told] = SimpleQueue()
        self._setup = pickle.dumps(setup)
        self._waiting, self._tries = deque(tasks), Counter[str]()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_over, self._lock = False, threading.Lock()
        self._pool = ThreadPoolExecutor(count, "crayon-worker", _shield)
        for _ in range(count):
            self._pool.submit(self._serve)

    def end(self) -> None:
        """End the processes. Their files stay valid: writes are ordered so that a kill at any time is safe."""
        with self._lock:
            self._is_over = True
            processes, until = [*self._processes], time.monotonic() + _TO_END
            for process in processes:
                process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, until - time.monotonic()))
            process.kill()
        self._pool.shutdown()

    def _serve(self) -> None:
        """Run tasks in one process after another until none are left."""
        in_hand: dict[str, Task] = {}
        try:
            while (process := self._begin()) is not None:
                with contextlib.suppress(BrokenPipeError), process:
                    reading = self._give(process, in_hand)
                    while in_hand and (event := self._hear(process)) is not None:
                        name, what = event
                        if what is not None:
                            self.told.put((in_hand[name], what))
                        if isinstance(what, (ShardSummary, Failure)):
                            del in_hand[name]
                        if what is None or reading not in in_hand:  # the last task has read its input
                            reading = self._give(process, in_hand)
                    process.kill()
                with self._lock:
                    self._processes.discard(process)
                    self._died(in_hand, process.returncode)
        except Exception as error:  # the process did not start
            with self._lock:
                left = [*in_hand.values(), *self._waiting]
                self._waiting.clear()
            for task in left:
                self.told.put((task, failure_of(error)))

    def _begin(self) -> subprocess.Popen[bytes] | None:
        """Start a process, or return None if no tasks are left."""
        with self._lock:
            if self._is_over or not self._waiting:
                return None
            command = [sys.executable, "-I", "-c", START, *sys.path]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._processes.add(process)
        self._write(process, self._setup)
        return process

    def _give(self, process: subprocess.Popen[bytes], in_hand: dict[str, Task]) -> str | None:
        """Send the next task to a process. Return the task's name, or None if no task may be sent now.

        A task during which a process died runs alone, so that it cannot end another task, too.
        """
        with self._lock:
            if not self._waiting or self._is_over or len(in_hand) == AT_ONCE:
                return None
            task = self._waiting[0]
            if in_hand and (self._tries[task.name] or any(self._tries[name] > 1 for name in in_hand)):
                return None
            self._waiting.popleft()
            self._tries[task.name] += 1
        in_hand[task.name] = task
        self._write(process, pickle.dumps(task))
        return task.name

    def _died(self, in_hand: dict[str, Task], code: int) -> None:
        """Retry the tasks of a dead process, or report their failure."""
        for task in reversed(in_hand.values()):
            failure = death(task.name, code)
            if self._is_over:
                continue
            if self._tries[task.name] < TRIES:
                print(f"crayon-hf: warning: {failure.message}; trying again", file=sys.stderr)
                self._waiting.appendleft(task)
            else:
                self.told.put((task, failure))
        in_hand.clear()

    def _write(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # the process has ended
            process.stdin.write(data)
            process.stdin.flush()

    def _hear(self, process: subprocess.Popen[bytes]) -> Any:
        """Return the next report of the process, or None if the process has ended."""
        try:
            return pickle.load(process.stdout)  # type: ignore[arg-type]
        except (EOFError, pickle.UnpicklingError):  # the process died within a report
            return None


def _shield() -> None:
    """Block SIGINT in the processes that this thread starts: the parent handles interrupts."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def main(messages: Any) -> NoReturn:
    """Run a worker process: it receives tasks as pickles on standard input and reports on standard output.

    `messages` begins with the work, the tokenizer's parcel and the number of threads; tasks follow. The process exits
    when its input ends, which happens however its parent ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for systems where a thread cannot block SIGINT
    stop = threading.Event()
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the prints of libraries must not mix with reports
    for category in (AmbiguousNameWarning, DelegatedWarning):
        warnings.simplefilter("ignore", category)  # the parent has shown these warnings
    telling = threading.Lock()

    def tell(name: str, what: Any) -> None:
        with telling:
            if not stop.is_set():  # otherwise the tasks' failures mean nothing
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
            tell(task.name, do_task(task, plan._replace(has_read=lambda: tell(task.name, None)), progress))

    plan = None
    try:
        work, parcel, count = pickle.load(messages)

        def files() -> Any:
            if parcel is None:
                raise CartridgeError("the tokenizer's files changed while the job ran: start the job again")
            return parcel

        plan = work.plan(files, count)
    except Exception as error:
        failure = failure_of(error)
    threads = ThreadPoolExecutor(AT_ONCE, initializer=stopping.stop_at, initargs=(stop,))
    try:
        signal.signal(signal.SIGTERM, _stop)
        while True:
            threads.submit(do, pickle.load(messages))
    except stopping.Stopped:
        stop.set()
        threads.shutdown()  # the tasks remove their temporary files
    finally:
        os._exit(0)


def _stop(number: int, frame: Any) -> NoReturn:
    raise stopping.Stopped

"""One task, by the function that every engine calls: threads and processes of this machine, Ray, Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from crayon_hf.corpora.job.encoder import Encoding, JobTokenizer
from crayon_hf.corpora.job.failures import Failure, failure_of
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.shard import Progress, ShardJob, ShardSummary, run_shard
from crayon_hf.corpora.job.state import Counts
from crayon_hf.corpora.storage import stopping

Runner = Callable[
    [Sequence[Task], JobTokenizer, Options, Callable[[Task, Counts], None]],
    Iterable[tuple[Task, "ShardSummary | Failure | Exception"]],
]
"""What does tasks: `do_task` for each, anywhere, in any order. It may tell how far a task is, and gives what came of
each one; what it has not given when it ends is not done."""


def do_task(
    task: Task, options: Options, encoding: Encoding, batch_bytes: int, progress: Progress | None = None
) -> ShardSummary | Failure:
    """Do a task. An error is a result, so that it can be read where its class is not known."""
    try:
        stopping.check()
        return run_shard(ShardJob(task.files, task.output, options, encoding, batch_bytes), progress=progress)
    except stopping.Stopped:
        return Failure("stopped", f"task {task.name} was stopped")
    except BaseException as error:  # of libraries, too, whose errors are no `Exception`
        if not isinstance(error, Exception) and threading.current_thread() is threading.main_thread():
            raise  # an engine ends its worker by a signal
        return failure_of(error)


def in_turn(encoding: Encoding, is_over: Callable[[], bool], has_read: Callable[[], object]) -> Encoding:
    """The encoding of one task that stops reading when all `is_over`, and says when it has nothing left to read."""

    def reading(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            for batch in batches:
                if is_over():
                    raise stopping.Stopped
                yield batch
        finally:
            has_read()

    return encoding._replace(reading=reading)

"""A process that does tasks: it gets them as pickles on standard input, and tells of them on standard output.

It ends when its input does, that is, when the process that started it ends, in whatever way.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn

from crayon_hf.corpora.job.encoder import Encoding, Work, job_tokenizer, plan_encoding
from crayon_hf.corpora.job.failures import failure_of
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.shard import do_task, taking_turns
from crayon_hf.corpora.job.state import Counts
from crayon_hf.errors import AmbiguousNameWarning, DelegatedWarning, JobError

START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from crayon_hf.corpora.job.worker import main; main(sys.stdin.buffer)"
)
"""What its interpreter is given to run."""
AT_ONCE = 2
"""Tasks of a process: while the files of one are brought to the disk, the next one is read."""
_EVERY = 0.1
"""Seconds between two reports of how far a task is."""


class Setup(NamedTuple):
    """What a process needs besides the tasks."""

    tokenizer: Any
    """Its name, or the tokenizer."""
    digest: str
    as_text: bool | None
    """What a pickle of a tokenizer forgets."""
    options: Options
    batch_bytes: int
    threads: int

    @classmethod
    def of(cls, work: Work, threads: int) -> Setup:
        """For these many threads."""
        opened, name, digest, *_ = work.tokenizer
        as_text = None if name else opened.encode_special_tokens
        return cls(name or opened, digest, as_text, work.options, work.batch_bytes, threads)

    def plan(self) -> Encoding:
        """What all tasks share."""
        if self.as_text is not None:
            self.tokenizer.encode_special_tokens = self.as_text
        tokenizer = job_tokenizer(self.tokenizer)
        if tokenizer.digest != self.digest:
            raise JobError(f"the tokenizer {tokenizer.name!r} was replaced while the job began: start it again")
        return plan_encoding(Work(tokenizer, self.options, self.batch_bytes), self.threads)


def main(messages: Any) -> NoReturn:
    """`messages`: a `Setup`, then tasks; None where no task may read on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from a terminal is a matter of who started us
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
        plan = pickle.load(messages).plan()
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

"""A process that works on tasks: one JSON object a line on standard input for each, events on standard output.

It ends when its input does, that is, when whoever started it ends, in whatever way: never does a worker go on alone.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import queue
import signal
import sys
import threading
import warnings
from typing import Any, NoReturn

from crayon_hf.corpora.job.encoder import job_tokenizer, plan_encoding
from crayon_hf.corpora.job.failures import failure_of
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.task_threads import TaskThreads
from crayon_hf.errors import AmbiguousNameWarning, DelegatedWarning, JobError
from crayon_hf.text_readers.documents import InputFile

START = (
    "import json, sys; setup = json.loads(sys.stdin.buffer.readline()); sys.path[:] = setup['path']; "
    "from crayon_hf.corpora.job.worker import main; main(setup)"
)
"""What its interpreter is given to run."""

_EVERY = 0.1
"""Seconds between two reports of how far it is."""


def main(setup: dict[str, Any]) -> NoReturn:
    """`setup`: path, options, tokenizer (a name, or base64 of a pickle), digest, batch_bytes, threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from a terminal is a matter of who started us
    events = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever a library prints is not an event

    telling = threading.Lock()

    def tell(**event: Any) -> None:
        with telling:
            events.write(json.dumps(event).encode() + b"\n")

    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(tasks,), daemon=True).start()
    for category in (AmbiguousNameWarning, DelegatedWarning):
        warnings.simplefilter("ignore", category)  # the process that started this one has said it
    try:
        named = setup["tokenizer"]
        if setup["pickled"]:
            named, as_text = pickle.loads(base64.b64decode(setup["pickled"]))
            named.encode_special_tokens = as_text  # which a pickle forgets
        tokenizer = job_tokenizer(named)
        if tokenizer.digest != setup["digest"]:
            raise JobError(f"the tokenizer {setup['tokenizer']!r} was replaced while the job began: start it again")
        options = Options(**setup["options"])
        encoding = plan_encoding(tokenizer, options, setup["threads"])
    except Exception as error:
        tell(event="unfit", failure=failure_of(error))
        os._exit(1)
    threads = TaskThreads(options, encoding, setup["batch_bytes"], tell, _EVERY)
    tell(event="ready")
    while True:
        task = tasks.get()
        files = tuple(InputFile(*file) for file in task["files"])
        threads.begin(Task(task["name"], files, task["output"]))


def _receive(tasks: queue.SimpleQueue[dict[str, Any]]) -> None:
    try:
        while line := sys.stdin.buffer.readline():
            tasks.put(json.loads(line))
    finally:
        os._exit(0)

"""Run the tasks of `tokenize_corpus` on Ray or Spark. The calling process handles output, state and failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import absolute, all_absolute
from crayon_hf.corpora.job.corpus import Runner, tokenize_corpus
from crayon_hf.corpora.job.encoder import Work
from crayon_hf.corpora.job.failures import Failure, failure_of
from crayon_hf.corpora.job.job_spec import Task
from crayon_hf.corpora.job.shard import ShardSummary, do_task
from crayon_hf.corpora.job.summary import Summary


def tokenize_by(
    by: Runner, function: str, instead: str, inputs: Any, output: Any, format: str, **settings: Any
) -> Summary:
    """Call `tokenize_corpus` with absolute paths, and `by` as its runner.

    `function` names the public function in errors, and `instead` names its argument that replaces ``threads``.

    Raises:
        TypeError: `settings` has ``workers``, ``threads`` or ``runner``.
    """
    if taken := {"workers", "threads", "runner"} & settings.keys():
        raise TypeError(f"{function} has no argument {', '.join(sorted(taken))}: see {instead}")
    return tokenize_corpus(all_absolute(inputs), absolute(output), format, runner=by, **settings)


def do_sent(task: Task, work: Work, fetch: Callable[[], distribute.Parcel], threads: int) -> ShardSummary | Failure:
    """Call `do_task` in a worker. If the worker lacks the cartridge, `fetch` gets the tokenizer's parcel."""
    try:
        encoding = work.plan(fetch, threads)
    except Exception as error:
        return failure_of(error)
    return do_task(task, encoding)

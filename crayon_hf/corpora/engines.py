"""`tokenize_corpus` by another engine, Ray or Spark: its tasks run elsewhere, the rest is done where it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import absolute, all_absolute
from crayon_hf.corpora.job.corpus import Runner, tokenize_corpus
from crayon_hf.corpora.job.encoder import Sent
from crayon_hf.corpora.job.failures import Failure, failure_of
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.shard import ShardSummary, do_task
from crayon_hf.corpora.job.summary import Summary


def tokenize_by(
    runner: Runner, function: str, instead: str, inputs: Any, output: Any, format: str, settings: dict[str, Any]
) -> Summary:
    """`tokenize_corpus` with absolute paths, for `function`, which has the argument `instead` in the place of those
    that are about processes of this machine: TypeError for one of these."""
    if taken := {"workers", "threads", "runner"} & settings.keys():
        raise TypeError(f"{function} has no argument {', '.join(sorted(taken))}: see {instead}")
    return tokenize_corpus(all_absolute(inputs), absolute(output), format, runner=runner, **settings)


def do_sent(task: Task, sent: Sent, fetch: Callable[[], distribute.Parcel], threads: int) -> ShardSummary | Failure:
    """`do_task` in a worker; `fetch` gives the tokenizer's parcel where it is needed."""
    try:
        encoding = sent.plan(fetch, threads)
    except Exception as error:
        return failure_of(error)
    return do_task(task, encoding)

"""`tokenize_corpus` by another engine, Ray or Spark: its tasks run elsewhere, the rest is done where it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import absolute, all_absolute
from crayon_hf.corpora.job.corpus import Runner, tokenize_corpus
from crayon_hf.corpora.job.encoder import JobTokenizer, Work, plan_encoding
from crayon_hf.corpora.job.failures import Failure, failure_of
from crayon_hf.corpora.job.options import Options
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


class Sent(NamedTuple):
    """What another engine sends to its workers, besides the tasks and the tokenizer's parcel."""

    label: distribute.Label
    facts: tuple[Any, ...]
    """Of the `JobTokenizer`, besides the tokenizer."""
    options: Options
    batch_bytes: int

    @classmethod
    def of(cls, work: Work) -> tuple[Sent, distribute.Parcel]:
        """It, and the parcel."""
        label, parcel = distribute.pack(work.tokenizer.tokenizer)
        return cls(label, work.tokenizer[1:], work.options, work.batch_bytes), parcel

    def do(self, task: Task, fetch: Callable[[], distribute.Parcel], threads: int) -> ShardSummary | Failure:
        """`do_task` in a worker, which opens the tokenizer once; `fetch` gives the parcel where it is needed."""
        try:
            tokenizer = JobTokenizer(distribute.unpack(self.label, fetch), *self.facts)
            encoding = _planned(Work(tokenizer, self.options, self.batch_bytes), threads)
        except Exception as error:
            return failure_of(error)
        return do_task(task, encoding)


_planned = functools.lru_cache(maxsize=1)(plan_encoding)
"""A worker gets one task after the other of a job."""

"""`tokenize_corpus` with its tasks on the executors of a Spark cluster.

Needs ``pyspark`` (the extra ``spark``). Spark schedules the tasks and retries those whose executor is lost. The calling
process handles the output, the state and failures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.engines import do_sent, tokenize_by
from crayon_hf.corpora.job.encoder import Work
from crayon_hf.corpora.job.failures import Failure
from crayon_hf.corpora.job.job_spec import Task
from crayon_hf.corpora.job.options import positive
from crayon_hf.corpora.job.shard import ShardSummary
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util.extras import need

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crayon_hf.corpora.job.state import Counts
    from crayon_hf.corpora.job.summary import Summary
    from crayon_hf.tokenizer import Tokenizer


def tokenize_corpus_on_spark(
    spark: SparkSession,
    inputs: str | os.PathLike[str] | InputFile | Sequence[str | os.PathLike[str] | InputFile],
    output: str | os.PathLike[str],
    format: str = "megatron",
    *,
    tokenizer: str | Tokenizer,
    threads: int = 1,
    **settings: Any,
) -> Summary:
    """`tokenize_corpus` on the executors of a Spark cluster. The output has the same bytes.

    Spark retries a task after the loss of its executor. If this call is repeated after an error or a kill, finished
    tasks are kept. `tokenize_corpus` with the same arguments can continue the job, too.

    Args:
        spark: A classic session. Spark Connect is not supported, because it has no broadcast variables.
        inputs: As for `tokenize_corpus`. All machines must see them at the same addresses (fsspec) or paths.
        output: The directory of the job. All machines must see it, too.
        format: One of ``FORMATS``.
        tokenizer: A `Tokenizer`, a name or a path on this machine; its cartridge is broadcast.
        threads: Encoding threads of each task; use ``spark.task.cpus``.
        **settings: The other arguments of `tokenize_corpus`, except ``workers`` and ``runner``. Spark calls
            `progress` when all tasks have ended.

    Returns:
        The summary of the job, as `tokenize_corpus` returns it.

    Raises:
        TypeError: `settings` has ``workers`` or ``runner``.
        Exception: The errors of `tokenize_corpus`.

    >>> tokenize_corpus_on_spark(spark, "s3://bucket/web", "s3://bucket/tokens", tokenizer="lite")  # doctest: +SKIP
    """
    need("tokenize_corpus_on_spark", "spark", "pyspark", "pyarrow")
    threads = positive(threads, "threads")

    def on_spark(
        tasks: Sequence[Task], work: Work, progress: Callable[[Task, Counts], None]
    ) -> Iterator[tuple[Task, ShardSummary | Failure]]:
        sent, parcel = work.sent()
        parcels = spark.sparkContext.broadcast(tuple(parcel))

        def run(task: Task) -> ShardSummary | Failure:
            return do_sent(task, sent, lambda: distribute.Parcel(*parcels.value), threads)

        try:
            yield from zip(tasks, spark.sparkContext.parallelize(tasks, len(tasks)).map(run).collect(), strict=True)
        finally:
            parcels.destroy()

    names = "tokenize_corpus_on_spark", "threads"
    return tokenize_by(on_spark, *names, inputs, output, format, tokenizer=tokenizer, **settings)

"""`tokenize_corpus` on the executors of a Spark cluster: its tasks become Spark's, the rest is done where it is called.

Needs ``pyspark``, the extra ``spark``. Spark decides where a task runs, and runs it again where its executor is lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.engines import do_sent, tokenize_by
from crayon_hf.corpora.job.encoder import Sent, Work
from crayon_hf.corpora.job.failures import Failure
from crayon_hf.corpora.job.options import positive
from crayon_hf.corpora.job.plan import Task
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
    """`tokenize_corpus` by the executors of a Spark cluster: the same bytes in the end.

    All machines see `output` and `inputs` in the same places: addresses of fsspec, or paths, which are made absolute.
    The tokenizer need not be there: its cartridge is broadcast. A task whose executor is lost is begun again by Spark,
    and its finished shards stay. After an error, or when this process is killed, the same call goes on,
    and so does `tokenize_corpus` with the same arguments.

    `threads` encode in each task: as many as ``spark.task.cpus``. `settings` are those of `tokenize_corpus`, but for
    ``workers`` and ``runner``; `progress` is called when all tasks have ended. Errors are those of `tokenize_corpus`. A
    session of Spark Connect is not supported: it has no broadcast variables.

    >>> tokenize_corpus_on_spark(spark, "s3://bucket/web", "s3://bucket/tokens", tokenizer="lite")  # doctest: +SKIP
    """
    need("tokenize_corpus_on_spark", "spark", "pyspark", "pyarrow")
    threads = positive(threads, "threads")

    def on_spark(
        tasks: Sequence[Task], work: Work, progress: Callable[[Task, Counts], None]
    ) -> Iterator[tuple[Task, ShardSummary | Failure]]:
        sent, parcel = Sent.of(work)
        parcels = spark.sparkContext.broadcast(tuple(parcel))

        def run(task: Task) -> ShardSummary | Failure:
            return do_sent(task, sent, lambda: distribute.Parcel(*parcels.value), threads)

        try:
            yield from zip(tasks, spark.sparkContext.parallelize(tasks, len(tasks)).map(run).collect(), strict=True)
        finally:
            parcels.destroy()

    settings = {"tokenizer": tokenizer, **settings}
    return tokenize_by(on_spark, "tokenize_corpus_on_spark", "threads", inputs, output, format, settings)

"""Spark: the function for ``DataFrame.mapInArrow`` that adds a column of ids.

Needs ``pyspark`` and ``pyarrow`` (the extra ``spark``). The driver opens the tokenizer and broadcasts its cartridge. A
Python worker fetches the cartridge only if its machine lacks the file, and maps it once for all its tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.batch_columns import Column, packed
from crayon_hf.util.extras import need

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def tokenize_in_arrow(
    spark: SparkSession,
    tokenizer: Any,
    column: str = "text",
    output: str = "input_ids",
    *,
    add_special_tokens: bool = True,
    append_eos: bool = False,
    eos: str | None = None,
    suffix: Sequence[int] = (),
    threads: int = 1,
) -> TokenizeInArrow:
    """Make a function for ``mapInArrow`` that adds the ids of each text of `column` as the last column.

    Args:
        spark: A classic session.
        tokenizer: A `Tokenizer`, one of this package's ``transformers`` classes, a profile's name or a path.
        column: The column of texts. A null stays null. If the column is missing, the task fails.
        output: The name of the column of ids.
        add_special_tokens: Add the special tokens that the tokenizer puts around a text.
        append_eos: Add the end-of-text token to each text.
        eos: The end-of-text token; by default the tokenizer's.
        suffix: Ids to add to each text, before the end of text.
        threads: Encoding threads of each task; use ``spark.task.cpus``.

    Returns:
        A function that takes an iterator of record batches and returns one with the new column.

    Raises:
        JobError: `append_eos` is set, and the tokenizer's end-of-text token is not known.

    Errors about the tokenizer are raised here, not in a task. docs/clusters.md has examples.
    """
    need("tokenize_in_arrow", "spark", "pyspark", "pyarrow")
    worked_on, parcel = packed(tokenizer, column, output, add_special_tokens, append_eos, eos, suffix)
    return TokenizeInArrow(worked_on, spark.sparkContext.broadcast(tuple(parcel)), threads)


class TokenizeInArrow:
    """The picklable function that `tokenize_in_arrow` returns."""

    def __init__(self, column: Column, parcel: Any, threads: int) -> None:
        """`parcel` is a broadcast variable with the fields of a `distribute.Parcel`."""
        self._column, self._parcel, self._threads = column, parcel, threads

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self._column.added_to(batch, lambda: distribute.Parcel(*self._parcel.value), self._threads)

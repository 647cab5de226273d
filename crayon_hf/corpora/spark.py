"""Spark: the function that ``DataFrame.mapInArrow`` takes to add a column of ids.

Needs ``pyspark`` and ``pyarrow``, the extra ``spark``. The driver opens the tokenizer and broadcasts its cartridge; a
Python worker asks for it only where there is no such file, and maps it once, however many tasks it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.batch_columns import Column, packed, with_ids
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
    """What to give to ``mapInArrow``: batches with the ids of each text of `column` as their last column, `output`.

    `tokenizer` is a `Tokenizer`, one of ``transformers`` from this package, or the name of a profile or a path; errors
    about it are raised here, not in a task. A null stays null. `append_eos` adds the end of text
    to each text: `eos`, or what the tokenizer calls so (JobError when that is not clear); `suffix` adds any ids, before
    that. `threads` are those of one task: as many as ``spark.task.cpus``. A `column` that is not there fails the task.

    docs/clusters.md has examples.
    """
    need("tokenize_in_arrow", "spark", "pyspark", "pyarrow")
    label, parcel, worked_on = packed(tokenizer, column, output, add_special_tokens, append_eos, eos, suffix)
    return TokenizeInArrow(label, spark.sparkContext.broadcast(tuple(parcel)), worked_on, threads)


class TokenizeInArrow:
    """A function of batches that can be pickled."""

    def __init__(self, label: distribute.Label, parcel: Any, column: Column, threads: int) -> None:
        """`parcel` is a broadcast variable."""
        self._label, self._parcel, self._column, self._threads = label, parcel, column, threads

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tokenizer = distribute.unpack(self._label, lambda: distribute.Parcel(*self._parcel.value))
        for batch in batches:
            yield with_ids(tokenizer, batch, self._column, self._threads)

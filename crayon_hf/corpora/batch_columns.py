"""Add a column of ids to an Arrow batch, for Ray's actors and Spark's workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import end_of_text, opened
from crayon_hf.corpora.arrow_columns import tokenize_column, tokenizer_of
from crayon_hf.text_readers.documents import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from crayon_hf.tokenizer import Tokenizer

    Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)


class Column(NamedTuple):
    """The column to tokenize, and the options."""

    text: str = "text"
    ids: str = "input_ids"
    """The column to add or replace."""
    add_special_tokens: bool = True
    suffix: tuple[int, ...] = ()
    """Ids to append to each text."""


def packed(
    tokenizer: Any,
    column: str,
    output: str,
    add_special_tokens: bool,
    append_eos: bool,
    eos: str | None,
    suffix: Sequence[int],
) -> tuple[distribute.Label, distribute.Parcel, Column]:
    """Convert a user's arguments for workers that call `with_ids`.

    Return the tokenizer's label and parcel (see `distribute`), and the column with its options.
    """
    inner = tokenizer_of(opened(tokenizer))
    suffix = (*suffix, *end_of_text(tokenizer, inner, append_eos, eos))
    return *distribute.pack(inner), Column(column, output, add_special_tokens, suffix)


def with_ids(tokenizer: Tokenizer, batch: Batch, column: Column, threads: int) -> Batch:
    """Return the batch with an added column of ids, ``list<int32>``.

    Raises CorpusError if the column of texts is missing or has another type.
    """
    import pyarrow as pa

    names = list(batch.schema.names)
    check_columns(names, [column.text], "the batch")
    ids = tokenize_column(
        tokenizer,
        batch.column(names.index(column.text)),
        add_special_tokens=column.add_special_tokens,
        suffix=column.suffix,
        threads=threads,
        name=column.text,
    )
    field = pa.field(column.ids, ids.type)
    columns, schema = list(batch.columns), batch.schema  # keeps nullability and metadata of the other columns
    if column.ids in names:
        check_columns(names, [column.ids], "the batch")
        place = names.index(column.ids)
        columns[place], schema = ids, schema.set(place, field)
    else:
        columns.append(ids)
        schema = schema.append(field)
    return type(batch).from_arrays(columns, schema=schema)

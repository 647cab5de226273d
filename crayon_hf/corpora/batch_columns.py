"""Add a column of ids to an Arrow batch, for Ray's actors and Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import end_of_text, opened
from crayon_hf.corpora.arrow_columns import tokenize_column, tokenizer_of
from crayon_hf.text_readers.documents import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)


class Column(NamedTuple):
    """A tokenizer, the column to tokenize with it, and the options."""

    label: distribute.Label
    text: str = "text"
    ids: str = "input_ids"
    """The column to add or replace."""
    add_special_tokens: bool = True
    suffix: tuple[int, ...] = ()
    """Ids to append to each text."""

    def added_to(self, batch: Batch, fetch: Callable[[], distribute.Parcel], threads: int) -> Batch:
        """Return the batch with an added column of ids, ``list<int32>``. `fetch` gets the tokenizer's parcel.

        Raises CorpusError if the column of texts is missing or has another type.
        """
        import pyarrow as pa

        names = list(batch.schema.names)
        check_columns(names, [self.text], "the batch")
        ids = tokenize_column(
            distribute.unpack(self.label, fetch),
            batch.column(names.index(self.text)),
            add_special_tokens=self.add_special_tokens,
            suffix=self.suffix,
            threads=threads,
            name=self.text,
        )
        columns: list[Any] = list(batch.columns)
        schema = batch.schema  # keeps nullability and metadata of the other columns
        if self.ids not in names:
            return type(batch).from_arrays([*columns, ids], schema=schema.append(pa.field(self.ids, ids.type)))
        check_columns(names, [self.ids], "the batch")
        place = names.index(self.ids)
        columns[place] = ids
        return type(batch).from_arrays(columns, schema=schema.set(place, pa.field(self.ids, ids.type)))


def packed(
    tokenizer: Any,
    column: str,
    output: str,
    add_special_tokens: bool,
    append_eos: bool,
    eos: str | None,
    suffix: Sequence[int],
) -> tuple[Column, distribute.Parcel]:
    """Convert a user's arguments to a column for workers, and the tokenizer's parcel (see `distribute`)."""
    inner = tokenizer_of(opened(tokenizer))
    suffix = (*suffix, *end_of_text(tokenizer, inner, append_eos, eos))
    label, parcel = distribute.pack(inner)
    return Column(label, column, output, add_special_tokens, suffix), parcel

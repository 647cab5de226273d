"""Ray: tokenize a column of a Ray dataset.

Needs ``ray[data]`` (the extra ``ray``). Actors get the tokenizer's label. The cartridge goes through Ray's object
store, once to each node that lacks it (see `crayon_hf.corpora.distribute`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.batch_columns import Column, packed
from crayon_hf.util.extras import need

if TYPE_CHECKING:
    import pyarrow as pa
    import ray.data


def tokenize_dataset(
    dataset: ray.data.Dataset,
    tokenizer: Any,
    column: str = "text",
    output: str = "input_ids",
    *,
    add_special_tokens: bool = True,
    append_eos: bool = False,
    eos: str | None = None,
    suffix: Sequence[int] = (),
    **options: Any,
) -> ray.data.Dataset:
    """Add a column of ids, ``list<int32>``, to a Ray dataset. Nothing is computed before the dataset is consumed.

    Args:
        dataset: The dataset.
        tokenizer: A `Tokenizer`, one of this package's ``transformers`` classes, a profile's name or a path.
        column: The column of texts. A null stays null.
        output: The name of the column of ids.
        add_special_tokens: Add the special tokens that the tokenizer puts around a text.
        append_eos: Add the end-of-text token to each text.
        eos: The end-of-text token; by default the tokenizer's.
        suffix: Ids to add to each text, before the end of text.
        **options: Options of ``map_batches``: ``compute=ray.data.ActorPoolStrategy(size=8)`` for eight actors,
            ``num_cpus=4`` for four threads in each, ``batch_size`` (by default a block is a batch).

    Returns:
        The dataset with the new column.

    Raises:
        JobError: `append_eos` is set, and the tokenizer's end-of-text token is not known.

    docs/clusters.md has examples.
    """
    need("tokenize_dataset", "ray", "ray", "pyarrow")
    import ray

    worked_on, parcel = packed(tokenizer, column, output, add_special_tokens, append_eos, eos, suffix)
    # Ray passes an object in a list without fetching it: few actors need this one.
    arguments = {"column": worked_on, "parcel": [ray.put(parcel)]}
    return dataset.map_batches(
        TokenizeBatches, fn_constructor_kwargs=arguments, **{"batch_format": "pyarrow", "num_cpus": 1} | options
    )


class TokenizeBatches:
    """The class that ``map_batches`` instantiates in each actor, and calls with batches (``pyarrow.Table``)."""

    def __init__(self, column: Column, parcel: list[ray.ObjectRef]) -> None:
        self._column, self._fetch, self._threads = column, fetched(parcel), cpus()

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._column.added_to(batch, self._fetch, self._threads)


def fetched(parcels: list[ray.ObjectRef]) -> Callable[[], distribute.Parcel]:
    """Return a function that gets the parcel from Ray's object store."""
    import ray

    return lambda: ray.get(parcels[0])


def cpus() -> int:
    """The number of CPUs that Ray gives this worker, which is also its number of encoding threads."""
    import ray

    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))

"""Ray: a column of a Ray dataset to ids, and the files of a corpus on all nodes of a cluster.

Needs ``ray[data]``, the extra ``ray``. Actors and tasks get the tokenizer's label; its cartridge goes through Ray's
object store to the nodes that do not have it, once for each node (see `shipping`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import distribute
from crayon_hf.corpora.batch_columns import Column, packed, with_ids
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
    """The Ray dataset with a column of ids, ``list<int32>``, of each text of `column`; a null stays null.

    `tokenizer` is a `Tokenizer`, one of ``transformers`` from this package, or what names one: a profile or a path.
    `append_eos` adds the end of text to each text: `eos`, or what the tokenizer calls so (JobError when that is not
    clear); `suffix` adds any ids, before that. `options` are those of ``map_batches``:
    ``compute=ray.data.ActorPoolStrategy(size=8)`` for so many actors, ``num_cpus=4`` for that many threads in each,
    ``batch_size`` (by default a block is a batch). Nothing is computed before the dataset is consumed.

    docs/clusters.md has examples.
    """
    need("tokenize_dataset", "ray", "ray", "pyarrow")
    import ray

    label, parcel, worked_on = packed(tokenizer, column, output, add_special_tokens, append_eos, eos, suffix)
    arguments = {
        "label": label,
        "parcel": [ray.put(parcel)],  # in a list, since Ray fetches arguments: an actor may not need this one
        "column": worked_on,
    }
    return dataset.map_batches(
        TokenizeBatches, fn_constructor_kwargs=arguments, **{"batch_format": "pyarrow", "num_cpus": 1} | options
    )


class TokenizeBatches:
    """What an actor of ``map_batches`` does with a batch, which is a ``pyarrow.Table``."""

    def __init__(self, label: distribute.Label, parcel: list[ray.ObjectRef], column: Column) -> None:
        self._tokenizer = distribute.unpack(label, fetched(parcel))
        self._column = column
        self._threads = cpus()

    def __call__(self, batch: pa.Table) -> pa.Table:
        return with_ids(self._tokenizer, batch, self._column, self._threads)


def fetched(parcels: list[ray.ObjectRef]) -> Callable[[], distribute.Parcel]:
    """What gets the one of Ray's object store."""
    import ray

    return lambda: ray.get(parcels[0])


def cpus() -> int:
    """How many CPUs Ray gives this worker, and how many threads it is to use."""
    import ray

    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))

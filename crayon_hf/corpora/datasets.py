"""Hugging Face ``datasets``: tokenize a column of texts into a column of ids with `Dataset.map`, in Arrow throughout.

Needs ``datasets``. `map` finds its cache files by a fingerprint of its result. `tokenize_dataset` computes it from the
vocabulary, the options and the column, not from the paths of the tokenizer's files or from earlier calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crayon_hf import _core, fingerprints
from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import end_of_text, opened
from crayon_hf.corpora.arrow_columns import tokenize_column, tokenizer_of
from crayon_hf.corpora.job.encoder import job_tokenizer
from crayon_hf.errors import CartridgeError
from crayon_hf.text_readers.documents import check_columns

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from crayon_hf.tokenizer import Tokenizer

_BATCH_BYTES = 16 << 20
_MOST_ROWS = 10_000
_SAMPLE = 128
_MASK = "attention_mask"
_NEUTRAL = ("load_from_cache_file", "keep_in_memory", "cache_file_name", "writer_batch_size", "suffix_template", "desc")
"""The options of `map` that change no row. Others are refused, because the fingerprint does not include them."""


def tokenize_dataset(
    dataset: Any,
    tokenizer: Any,
    column: str = "text",
    *,
    output: str = "input_ids",
    attention_mask: bool = False,
    add_special_tokens: bool = True,
    append_eos: bool = False,
    eos: str | None = None,
    keep_columns: Sequence[str] = (),
    batch_size: int | None = None,
    num_proc: int | None = None,
    threads: int = 0,
    **options: Any,
) -> Any:
    """Tokenize a column of a dataset.

    Args:
        dataset: A `Dataset`, `DatasetDict`, `IterableDataset` or `IterableDatasetDict` without a transform
            (`with_transform`).
        tokenizer: As for `BatchTokenizer`; so are `add_special_tokens`, `append_eos` and `eos`.
        column: The column of texts. A null stays null. In an iterable dataset of Python rows, such as a generator's,
            nulls fail, because `datasets` cannot make a table of them.
        output: The column of ids, lists of int32.
        attention_mask: Add a column ``attention_mask``: lists of ones (int8).
        keep_columns: The columns to keep; the others are dropped.
        batch_size: Rows in a batch. By default about 16 MiB of text, at most 10,000 rows; 1,000 rows for an iterable
            dataset.
        num_proc: The number of processes. Unless `threads` is given, they share the cores.
        threads: Encoding threads of each process; 0 uses all cores.
        **options: Options of `Dataset.map` that change no row: ``load_from_cache_file``, ``keep_in_memory``,
            ``cache_file_name``, ``writer_batch_size``, ``suffix_template``, ``desc``.

    Returns:
        A dataset of the same kind with `output` and `keep_columns`.

    Raises:
        CorpusError: The column is missing or has no texts.
        InvalidUtf8Error: A text is damaged.
        TypeError: `dataset` has another type, or `options` has another option of `map`.
        ValueError: The dataset has a transform, or two columns of the result would share a name.

    docs/corpora.md has examples.
    """
    import datasets

    if isinstance(dataset, (datasets.Dataset, datasets.IterableDataset)):
        splits = {"": dataset}
    elif isinstance(dataset, (datasets.DatasetDict, datasets.IterableDatasetDict)):
        splits = dict(dataset)
    else:
        raise TypeError(f"dataset is {type(dataset).__name__}, expected a dataset of the library `datasets`")
    is_iterable = isinstance(dataset, (datasets.IterableDataset, datasets.IterableDatasetDict))
    neutral = () if is_iterable else _NEUTRAL
    if unknown := sorted(options.keys() - set(neutral)):
        there = f"map's options here are {', '.join(neutral)}" if neutral else "an iterable dataset takes none of map's"
        raise TypeError(f"tokenize_dataset has no option {', '.join(unknown)}: {there}")
    if num_proc and is_iterable:
        raise ValueError("num_proc is not supported for iterable datasets")
    if "cache_file_name" in options and isinstance(dataset, datasets.DatasetDict):
        raise ValueError("cache_file_name is for one dataset, not for a DatasetDict")
    if num_proc and not threads:
        threads = max(1, _core.usable_cores() // num_proc)
    function = BatchTokenizer(
        tokenizer,
        column,
        output=output,
        attention_mask=attention_mask,
        add_special_tokens=add_special_tokens,
        append_eos=append_eos,
        eos=eos,
        keep_columns=keep_columns,
        threads=threads,
    )
    mapped = {
        name: _map_iterable(split, function, batch_size, options)
        if is_iterable
        else _map(split, function, batch_size, {"num_proc": num_proc, "desc": "Tokenizing", **options})
        for name, split in splits.items()
    }
    return mapped[""] if splits.keys() == {""} and dataset is splits[""] else type(dataset)(mapped)


class BatchTokenizer:
    """The function to pass to `Dataset.map` of a dataset in Arrow format. It returns a table of ids for each batch.

    >>> dataset.with_format("arrow").map(BatchTokenizer(tokenizer), batched=True)  # doctest: +SKIP

    It keeps a copy of the tokenizer, so later changes to the original have no effect. Its pickle is under a kilobyte,
    with the path and digest of the cartridge: a worker maps that file. If the tokenizer was changed after opening, the
    pickle has its tokenizer.json.
    """

    def __init__(
        self,
        tokenizer: Any,
        column: str = "text",
        *,
        output: str = "input_ids",
        attention_mask: bool = False,
        add_special_tokens: bool = True,
        append_eos: bool = False,
        eos: str | None = None,
        keep_columns: Sequence[str] = (),
        threads: int = 0,
    ) -> None:
        """Prepare a tokenizer for batches.

        Args:
            tokenizer: A `Tokenizer`, one of this package's ``transformers`` classes, a profile's name or a path.
            column: The column of texts.
            output: The column of ids.
            attention_mask: Add a column ``attention_mask``: lists of ones.
            add_special_tokens: Add the special tokens that the tokenizer puts around a text.
            append_eos: Add the end-of-text token to each text.
            eos: The end-of-text token; by default the tokenizer's.
            keep_columns: The columns of a batch to keep.
            threads: Encoding threads; 0 uses all cores.

        Raises:
            JobError: `append_eos` is set, and the tokenizer's end-of-text token is not known.
            ValueError: Two columns of the result would have the same name.
        """
        if isinstance(keep_columns, str):
            raise TypeError(f"keep_columns is the str {keep_columns!r}, expected a sequence of names")
        names = [*keep_columns, output, *([_MASK] if attention_mask else [])]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"the result would have more than one column {', '.join(map(repr, sorted(twice)))}")
        self._tokenizer = _frozen(opened(tokenizer))
        suffix = end_of_text(tokenizer, self._tokenizer, append_eos, eos)
        self._column, self._output, self._keep_columns = column, output, tuple(keep_columns)
        self._attention_mask, self._add_special_tokens, self._suffix = attention_mask, add_special_tokens, suffix
        self._threads = threads
        self._sent: tuple[distribute.Label, distribute.Parcel | None] | None = None
        _register()

    @property
    def fingerprint(self) -> str:
        """A string that identifies the tokenizer and the options, except `threads`. It is equal in every process."""
        how = (self._column, self._output, self._attention_mask, self._add_special_tokens, self._suffix)
        return f"{type(self).__name__}/1 {job_tokenizer(self._tokenizer).digest} {(*how, self._keep_columns)}"

    def features(self, of: datasets.Features | None) -> datasets.Features | None:
        """Return the features of the result, or None if `of`, the dataset's features, lacks a kept column."""
        import datasets
        import pyarrow as pa

        if of is None and self._keep_columns:
            return None
        made = {self._output: pa.list_(pa.int32())}
        if self._attention_mask:
            made[_MASK] = pa.list_(pa.int8())
        kept = {} if of is None else {name: of[name] for name in self._keep_columns if name in of}
        return datasets.Features({**kept, **datasets.Features.from_arrow_schema(pa.schema(made))})

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return a table of the kept columns, the ids and, if asked for, the attention mask."""
        import pyarrow as pa

        if not isinstance(batch, pa.Table):
            raise TypeError(
                f"batch is {type(batch).__name__}, expected pyarrow.Table: "
                'use dataset.with_format("arrow").map(..., batched=True)'
            )
        check_columns(batch.column_names, (self._column, *self._keep_columns), "the batch")
        ids = tokenize_column(
            self._tokenizer,
            batch.column(self._column),
            add_special_tokens=self._add_special_tokens,
            suffix=self._suffix,
            threads=self._threads,
            name=self._column,
        )
        made = {name: batch.column(name) for name in self._keep_columns} | {self._output: ids}
        if self._attention_mask:
            made[_MASK] = _ones_like(ids)
        return pa.table(made)

    def __getstate__(self) -> dict[str, Any]:
        if self._sent is None:
            label, parcel = distribute.pack(self._tokenizer)
            with contextlib.suppress(OSError):
                distribute.unpack(label, lambda: parcel)  # caches the cartridge if it is only in memory
            self._sent = label, None if distribute.is_here(label) else parcel
        return {name: value for name, value in vars(self).items() if name != "_tokenizer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        label, parcel = state["_sent"]

        def fetch() -> distribute.Parcel:
            if parcel is None:
                raise CartridgeError("the cartridge of a pickled BatchTokenizer was not found: pickle it again")
            return parcel  # type: ignore[no-any-return]

        self._tokenizer = distribute.unpack(label, fetch)
        _register()


def _frozen(tokenizer: Any) -> Tokenizer:
    """Copy a tokenizer without truncation and padding, which earlier calls of a ``transformers`` class may have set."""
    inner = tokenizer_of(tokenizer)
    twin = inner._as_it_is()
    twin.no_truncation()
    twin.no_padding()
    twin.encode_special_tokens = bool(getattr(tokenizer, "split_special_tokens", inner.encode_special_tokens))
    return twin


def _ones_like(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of ones with the lengths of `ids`, sharing its offsets and nulls."""
    import pyarrow as pa

    kind = pa.list_(pa.int8())
    chunks = []
    for chunk in ids.chunks:
        ones = pa.array(np.ones(len(chunk.values), np.int8))
        chunks.append(
            pa.Array.from_buffers(kind, len(chunk), chunk.buffers()[:2], offset=chunk.offset, children=[ones])
        )
    return pa.chunked_array(chunks, kind)


# -- mapping


def _map(dataset: Any, function: BatchTokenizer, batch_size: int | None, options: dict[str, Any]) -> Any:
    import datasets
    from datasets.fingerprint import Hasher

    check_columns(dataset.column_names, (function._column, *function._keep_columns), "the dataset")
    how = dataset.format
    if how["type"] == "custom":  # a transform: `map` would read the stored rows, not the transformed ones
        raise ValueError(
            "the dataset has a transform (with_transform), which was not applied to the stored texts: "
            "apply it with dataset.map, or remove it with dataset.with_format(None)"
        )
    features = function.features(dataset.features)
    if not len(dataset):  # `map` returns an empty dataset unchanged
        function(dataset.with_format("arrow")[:0])
        assert features is not None
        empty = datasets.Dataset.from_dict({name: [] for name in features}, features=features, split=dataset.split)
        return empty.with_format(how["type"], **how["format_kwargs"])
    arrow = dataset.with_format("arrow")
    if batch_size is None:
        places = np.unique(np.linspace(0, len(dataset) - 1, _SAMPLE).astype(int))
        sample = arrow.select_columns(function._column)[places]
        batch_size = min(_MOST_ROWS, 1 + _BATCH_BYTES * len(places) // max(1, sample.nbytes))
    mapped = arrow.map(
        function,
        batched=True,
        batch_size=batch_size,
        features=features,
        new_fingerprint=Hasher.hash([dataset._fingerprint, function.fingerprint]),
        **options,
    )
    return mapped.with_format(how["type"], **how["format_kwargs"])


def _map_iterable(dataset: Any, function: BatchTokenizer, batch_size: int | None, options: dict[str, Any]) -> Any:
    mapped = dataset.with_format("arrow").map(
        function,
        batched=True,
        batch_size=1000 if batch_size is None else batch_size,
        features=function.features(dataset.features),
        **options,
    )
    how = getattr(dataset, "_formatting", None)
    return mapped.with_format(None if how is None else how.format_type)


def _register() -> None:
    """Make `datasets` hash a `BatchTokenizer` passed to `map` by its fingerprint.

    By default `datasets` hashes the function's pickle, which includes the path of the cartridge.
    """
    with contextlib.suppress(ImportError):
        fingerprints.hash_by(BatchTokenizer, lambda function: (function.fingerprint,))

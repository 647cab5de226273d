"""Hugging Face ``datasets``: a column of texts to a column of ids by `Dataset.map`, over Arrow from end to end.

Needs ``datasets``. A dataset's fingerprint, by which `map` finds its cache files again, is made of what the ids depend
on: the vocabulary, the options and the column. Where the tokenizer's files are, and what was done with it before, is no
part of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crayon_hf import _core, fingerprints
from crayon_hf.corpora import distribute
from crayon_hf.corpora.arguments import check_columns, end_of_text, opened
from crayon_hf.corpora.arrow_columns import tokenize_column, tokenizer_of
from crayon_hf.corpora.job.encoder import job_tokenizer
from crayon_hf.errors import CartridgeError

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from crayon_hf.tokenizer import Tokenizer

_BATCH_BYTES = 16 << 20
_MOST_ROWS = 10_000
_SAMPLE = 128
_MASK = "attention_mask"
_NEUTRAL = ("load_from_cache_file", "keep_in_memory", "cache_file_name", "writer_batch_size", "suffix_template", "desc")
"""The options of `map` on which no row of the result depends. The fingerprint has no other, so no other is taken."""


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
    """The ids of a column of a dataset: a dataset of the same kind with `output`, lists of int32.

    `dataset` is a `Dataset`, a `DatasetDict`, an `IterableDataset` or an `IterableDatasetDict`; one with a transform
    (`with_transform`) is refused. A null stays null; rows of Python in an iterable dataset, as a generator's, may have
    none: `datasets` makes no table of them. `attention_mask` adds a column of that name, lists of ones (int8).
    Of the other columns `keep_columns` stay.

    `tokenizer`, `add_special_tokens`, `append_eos` and `eos` are those of `BatchTokenizer`. `batch_size` is in rows; by
    default as many as have about 16 MiB of text, at most 10,000 (of an iterable dataset 1,000). All cores work in one
    process; with `num_proc` each process has its share of them, unless `threads` says how many. `options` are those of
    `Dataset.map` that change no row: ``load_from_cache_file``, ``keep_in_memory``, ``cache_file_name``,
    ``writer_batch_size``, ``suffix_template``, ``desc``; TypeError for any other.

    CorpusError when there is no such column of texts, InvalidUtf8Error for a damaged one, ValueError for a dataset with
    a transform and for two columns of one name.

    docs/corpora.md has examples.
    """
    import datasets

    if isinstance(dataset, (datasets.Dataset, datasets.IterableDataset)):
        splits = {"": dataset}
    elif isinstance(dataset, (datasets.DatasetDict, datasets.IterableDatasetDict)):
        splits = dict(dataset)
    else:
        raise TypeError(f"dataset is {type(dataset).__name__}, expected one of the library `datasets`")
    is_iterable = isinstance(dataset, (datasets.IterableDataset, datasets.IterableDatasetDict))
    neutral = () if is_iterable else _NEUTRAL
    if unknown := sorted(options.keys() - set(neutral)):
        there = f"of those of map it has {', '.join(neutral)}" if neutral else "an iterable dataset takes none of map's"
        raise TypeError(f"tokenize_dataset has no option {', '.join(unknown)}: {there}")
    if num_proc and is_iterable:
        raise ValueError("num_proc is for datasets that are not iterable")
    if "cache_file_name" in options and isinstance(dataset, datasets.DatasetDict):
        raise ValueError("cache_file_name is for one dataset, and this is a DatasetDict")
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


class _How(NamedTuple):
    column: str
    output: str
    attention_mask: bool
    add_special_tokens: bool
    suffix: tuple[int, ...]
    keep_columns: tuple[str, ...]


class BatchTokenizer:
    """What `Dataset.map` calls with each batch of a dataset in Arrow format; it gives a table of ids.

    >>> dataset.with_format("arrow").map(BatchTokenizer(tokenizer), batched=True)  # doctest: +SKIP

    It keeps the tokenizer as it is now, whatever is done with it later. A pickle of it has less than a
    kilobyte: where the cartridge is, and its digest; a worker maps it.
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
        """`tokenizer` is a `Tokenizer`, one of ``transformers`` from this package, or a name or path of one.

        `append_eos` adds the end of text to each text: `eos`, or what the tokenizer calls so (JobError when that is not
        clear). `threads` 0 means one for each core. ValueError when two columns of the result would have one name.
        """
        if isinstance(keep_columns, str):
            raise TypeError(f"keep_columns is the str {keep_columns!r}, expected a sequence of names")
        names = [*keep_columns, output, *([_MASK] if attention_mask else [])]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"the result would have more than one column {', '.join(map(repr, sorted(twice)))}")
        self._tokenizer = _frozen(opened(tokenizer))
        suffix = end_of_text(tokenizer, self._tokenizer, append_eos, eos)
        self._how = _How(column, output, attention_mask, add_special_tokens, suffix, tuple(keep_columns))
        self._threads = threads
        self._label: distribute.Label | None = None
        _register()

    @property
    def fingerprint(self) -> str:
        """What all that the result of a batch depends on comes to, the same in every process."""
        return f"{type(self).__name__}/1 {job_tokenizer(self._tokenizer).digest} {tuple(self._how)}"

    def features(self, of: datasets.Features | None) -> datasets.Features | None:
        """The features of the result; None where those of the columns that are kept are not known."""
        import datasets
        import pyarrow as pa

        if of is None and self._how.keep_columns:
            return None
        made = {self._how.output: pa.list_(pa.int32())}
        if self._how.attention_mask:
            made[_MASK] = pa.list_(pa.int8())
        kept = {} if of is None else {name: of[name] for name in self._how.keep_columns if name in of}
        return datasets.Features({**kept, **datasets.Features.from_arrow_schema(pa.schema(made))})

    def __call__(self, batch: pa.Table) -> pa.Table:
        """A table of the columns that are kept, the ids and, if it is wanted, the attention mask."""
        import pyarrow as pa

        if not isinstance(batch, pa.Table):
            raise TypeError(
                f"batch is {type(batch).__name__}, expected pyarrow.Table: "
                'use dataset.with_format("arrow").map(..., batched=True)'
            )
        how = self._how
        check_columns(batch.column_names, (how.column, *how.keep_columns))
        ids = tokenize_column(
            self._tokenizer,
            batch.column(how.column),
            add_special_tokens=how.add_special_tokens,
            suffix=how.suffix,
            threads=self._threads,
            name=how.column,
        )
        made = {name: batch.column(name) for name in how.keep_columns} | {how.output: ids}
        if how.attention_mask:
            made[_MASK] = _ones_like(ids)
        return pa.table(made)

    def __reduce__(self) -> tuple[Callable[..., BatchTokenizer], tuple[Any, ...]]:
        if self._label is None:
            label, parcel = distribute.pack(self._tokenizer)
            try:
                distribute.unpack(label, lambda: parcel)  # puts it into the cache when it is in memory alone
            except OSError:
                return _reopened, (self._tokenizer, self._how, self._threads)
            self._label = label
        return _reopened, (self._label, self._how, self._threads)


def _reopened(tokenizer: Tokenizer | distribute.Label, how: tuple[Any, ...], threads: int) -> BatchTokenizer:
    again = BatchTokenizer.__new__(BatchTokenizer)
    again._label = tokenizer if isinstance(tokenizer, distribute.Label) else None
    again._tokenizer = distribute.unpack(tokenizer, _gone) if isinstance(tokenizer, distribute.Label) else tokenizer
    again._how, again._threads = _How(*how), threads
    _register()
    return again


def _gone() -> distribute.Parcel:
    raise CartridgeError("the cartridge of a pickled BatchTokenizer is not where it was, nor in the cache")


def _frozen(tokenizer: Any) -> Tokenizer:
    """A tokenizer of its own, without what calls leave behind in one of ``transformers``."""
    inner = tokenizer_of(tokenizer)
    twin = inner._as_it_is()
    twin.no_truncation()
    twin.no_padding()
    twin.encode_special_tokens = bool(getattr(tokenizer, "split_special_tokens", inner.encode_special_tokens))
    return twin


def _ones_like(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of ones, as long as those of `ids`; they share its offsets and its nulls."""
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

    check_columns(dataset.column_names, (function._how.column, *function._how.keep_columns))
    how = dataset.format
    if how["type"] == "custom":  # `map` would go over the rows as they are stored
        raise ValueError(
            "the dataset has a transform (with_transform), which the stored texts have not gone through: "
            "apply it with dataset.map, or take it away with dataset.with_format(None)"
        )
    features = function.features(dataset.features)
    if not len(dataset):  # `map` leaves such a dataset as it is
        function(dataset.with_format("arrow")[:0])
        assert features is not None
        empty = datasets.Dataset.from_dict({name: [] for name in features}, features=features, split=dataset.split)
        return empty.with_format(how["type"], **how["format_kwargs"])
    arrow = dataset.with_format("arrow")
    if batch_size is None:
        places = np.unique(np.linspace(0, len(dataset) - 1, _SAMPLE).astype(int))
        sample = arrow.select_columns(function._how.column)[places]
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
    """Have a `BatchTokenizer` that somebody gives to `map` himself hashed by its fingerprint, not by its pickle.

    Without it the hash has the path of the cartridge in it.
    """
    with contextlib.suppress(ImportError):
        fingerprints.hash_by(BatchTokenizer, lambda function: (function.fingerprint,))

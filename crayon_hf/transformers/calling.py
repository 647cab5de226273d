"""Fast paths for the methods of our classes, without Python code per token and with hardly any per text.

The engine returns the finished columns of a batch. A function returns None for a call with unusual arguments. Then the
code of transformers runs on the same engine, and reports wrong arguments.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from transformers import BatchEncoding, PreTrainedTokenizerFast
from transformers.utils import logging

from crayon_hf._core import Engine
from crayon_hf.transformers.backend import model_kind, without_added_tokens
from crayon_hf.transformers.encodings import LazyEncodings, Recipe, TextRecipe
from crayon_hf.transformers.originals import plain_backend
from crayon_hf.transformers.sizes import NONE, sizes_of

_KNOWN = frozenset(
    (
        *("text_pair", "add_special_tokens", "padding", "truncation", "max_length", "stride", "pad_to_multiple_of"),
        *("padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask", "verbose"),
        *("return_special_tokens_mask", "return_length", "return_offsets_mapping"),
    )
)
_OFF = frozenset(("is_split_into_words", "return_overflowing_tokens"))
_ALL = _KNOWN | _OFF
_STRATEGY = frozenset(("padding", "truncation", "max_length", "pad_to_multiple_of"))

_COLUMNS = {
    (types, mask): ("input_ids", *(("token_type_ids",) if types else ()), *(("attention_mask",) if mask else ()))
    for types in (False, True)
    for mask in (False, True)
}

_READ: dict[str, Any] = {
    "input_ids": attrgetter("ids"),
    "token_type_ids": attrgetter("type_ids"),
    "attention_mask": attrgetter("attention_mask"),
    "special_tokens_mask": attrgetter("special_tokens_mask"),
    "offset_mapping": attrgetter("offsets"),
    "length": len,
}
_DECODING = frozenset(("skip_special_tokens", "clean_up_tokenization_spaces", "spaces_between_special_tokens"))
"""Arguments of `decode` handled here. The last one is for slow tokenizers. Fast ones ignore it, but servers always pass
it."""
_ENDLESS = 1 << 62
_CLEAN_UP_ANYWAY = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"

_logger = logging.get_logger(PreTrainedTokenizerFast.__module__)
_new = object.__new__
_new_tuple = tuple.__new__

REFUSALS = (TypeError, ValueError, OverflowError)
"""Errors of the engine for bad input. Other exceptions are bugs in crayon-hf, and are not caught."""


def call_one(tokenizer: Any, text: str) -> BatchEncoding | None:
    """Return the result of ``tokenizer(text)``, or None if transformers has to run."""
    backend = plain_backend(tokenizer, "encode_batch")
    if backend is None:
        return None
    state = tokenizer.__dict__
    engine = backend._current_engine()
    special_as_text = state["split_special_tokens"]
    backend._restore((special_as_text, None, None))  # a call of transformers changes these settings, too
    names = state["model_input_names"]
    try:
        wanted = _COLUMNS["token_type_ids" in names, "attention_mask" in names]
        columns = engine.encode_row(text, True, special_as_text, wanted)
        if columns is None:
            return None
    except REFUSALS:
        return None  # transformers reports the error
    ids = columns["input_ids"]
    if len(ids) > state["model_max_length"]:
        tokenizer._eventual_warn_about_too_long_sequence(ids, None, True)
    encodings = LazyEncodings()
    encodings._recipe = _new_tuple(TextRecipe, (engine, text, special_as_text))
    return _batch(columns, encodings, 1)


def call(tokenizer: Any, text: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BatchEncoding | None:
    """Return the result of ``tokenizer(text, *args, **kwargs)``, or None if transformers has to run."""
    backend = plain_backend(tokenizer, "encode_batch")
    if backend is None or len(args) > 1:
        return None
    if kwargs and (not kwargs.keys() <= _ALL or any(kwargs.get(name) for name in _OFF)):
        return None
    if args and "text_pair" in kwargs:
        return None
    add_special_tokens = kwargs.get("add_special_tokens", True)
    if type(add_special_tokens) is not bool:
        return None
    batched, first, second = _inputs(text, args[0] if args else kwargs.get("text_pair"))
    if first is None:
        return None
    tensors = kwargs.get("return_tensors")
    if tensors is not None and tensors not in ("np", "pt"):
        return None
    verbose = kwargs.get("verbose", True)
    sizes = sizes_of(tokenizer, backend, kwargs, verbose) if kwargs.keys() & _STRATEGY else NONE
    if sizes is None:
        return None
    max_length, truncation, padding = sizes
    special_as_text = tokenizer.split_special_tokens
    backend._restore((special_as_text, truncation, padding))  # a call of transformers changes these settings, too
    engine = backend._current_engine()
    names = _columns(tokenizer, kwargs)
    encodings: list[Any]
    columns: dict[str, Any] | None
    try:
        if "offset_mapping" in names and (batched or tensors is not None):
            texts = first if second is None else list(zip(first, second, strict=True))
            encodings = engine.encode_batch(
                texts, False, add_special_tokens, special_as_text, True, 0, truncation, padding
            )
            columns = {name: list(map(_READ[name], encodings)) for name in names}
            if tensors is not None and (columns := _arrays(columns)) is None:
                return None
        elif batched or tensors is not None:
            columns = engine.encode_columns(
                first,
                second,
                add_special_tokens,
                special_as_text,
                truncation,
                None if padding is None else padding[:5],
                names,
                tensors is not None,
                0 if batched else 1,
            )
            if columns is None:
                return None
            if tensors is not None and "length" in names:
                columns["length"] = np.asarray(columns["length"], dtype=np.int64)
            encodings = LazyEncodings()
            encodings._recipe = Recipe(engine, first, second, add_special_tokens, special_as_text, truncation, padding)
        else:
            pair = None if second is None else second[0]
            encoding = engine.encode(first[0], pair, False, add_special_tokens, special_as_text, truncation, padding)
            columns = {name: _READ[name](encoding) for name in names}
            if "length" in columns:
                columns["length"] = [columns["length"]]
            encodings = [encoding]
    except REFUSALS:
        return None  # transformers reports the error
    if max_length is None and verbose:
        ids = columns["input_ids"]
        _warn_too_long(tokenizer, ids if batched or tensors is not None else [ids])
    if tensors == "pt" and (columns := _tensors(columns)) is None:
        return None
    return _batch(columns, encodings, 1 if second is None else 2)


def decode_row(tokenizer: Any, ids: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return ``tokenizer.decode(ids, *args, **kwargs)``, or None if transformers has to run.

    `ids` is an int, or a list that begins with an int.
    """
    backend = plain_backend(tokenizer, "decode")
    if backend is None:
        return None
    skip, clean_up = False, None
    if args or kwargs:
        if not kwargs.keys() <= _DECODING or len(args) > 1 or (args and "skip_special_tokens" in kwargs):
            return None
        skip = args[0] if args else kwargs.get("skip_special_tokens", False)
        clean_up = kwargs.get("clean_up_tokenization_spaces")
    try:
        text = backend.decode([ids] if type(ids) is int else ids, skip)
    except REFUSALS:
        return None  # transformers reports the error
    return tokenizer.clean_up_tokenization(text) if cleans_up(tokenizer, clean_up) else text


def decode_many(tokenizer: Any, sequences: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str] | None:
    """Return ``tokenizer.batch_decode(sequences, *args, **kwargs)``, or None if transformers has to run."""
    backend = plain_backend(tokenizer, "decode")
    if backend is None:
        return None
    options = dict(zip(("skip_special_tokens", "clean_up_tokenization_spaces"), args, strict=False))
    if len(args) > 2 or options.keys() & kwargs.keys():
        return None
    options.update(kwargs)
    if not options.keys() <= _DECODING:
        return None
    if type(sequences) is not list and getattr(sequences, "ndim", 0) == 2 and hasattr(sequences, "tolist"):
        sequences = sequences.tolist()
    if type(sequences) is not list or not sequences or type(sequences[0]) is not list:
        return None
    try:
        texts = backend.decode_batch(sequences, skip_special_tokens=options.get("skip_special_tokens", False))
    except REFUSALS:
        return None  # transformers reports the error
    if cleans_up(tokenizer, options.get("clean_up_tokenization_spaces")):
        texts = list(map(tokenizer.clean_up_tokenization, texts))
    return texts


def tokens_of(tokenizer: Any, ids: list[Any], skip_special_tokens: Any) -> list[str | None] | None:
    """Return ``tokenizer.convert_ids_to_tokens(ids, skip_special_tokens)``, or None if transformers has to run."""
    backend = plain_backend(tokenizer, "id_to_token")
    engine = None if backend is None else backend._engine or backend._settle()
    if type(engine) is not Engine:
        return None
    if skip_special_tokens:
        special = set(tokenizer.all_special_ids)
        ids = [id for id in map(int, ids) if id not in special]
    return engine.ids_to_tokens(ids)


def ids_of(tokenizer: Any, tokens: list[Any]) -> list[int | None] | None:
    """Return ``tokenizer.convert_tokens_to_ids(tokens)``, or None if transformers has to run."""
    backend = plain_backend(tokenizer, "token_to_id")
    engine = None if backend is None else backend._engine or backend._settle()
    ids = engine.tokens_to_ids(tokens) if type(engine) is Engine else None
    if ids is not None and None in ids:
        unknown = tokenizer.unk_token_id
        return [unknown if id is None else id for id in ids]
    return ids


def encode_without_added_tokens(tokenizer: Any, text: Any) -> list[int] | None:
    """Return ``tokenizer._encode_without_added_tokens(text)``, or None if transformers has to run."""
    backend = plain_backend(tokenizer, "token_to_id")
    engine = None if backend is None else without_added_tokens(backend)
    try:
        return None if engine is None else engine.encode_ids(text, False, False)
    except REFUSALS:
        return None  # transformers reports the error


def _inputs(text: Any, pair: Any) -> tuple[bool, list[str] | None, list[str] | None]:
    """Return whether the input is a batch, the first texts and, for pairs, the second texts.

    The first texts are None for types of input that the fast path does not take.
    """
    if isinstance(text, str):
        if pair is None or isinstance(pair, str):
            return False, [text], [pair] if pair else None
    elif isinstance(text, (list, tuple)) and text and isinstance(text[0], str):
        if pair is None:
            return True, list(text), None
        if isinstance(pair, (list, tuple)) and len(pair) == len(text):
            return True, list(text), list(pair)
    return False, None, None


def _columns(tokenizer: Any, kwargs: dict[str, Any]) -> tuple[str, ...]:
    names = tokenizer.model_input_names
    types = kwargs.get("return_token_type_ids")
    mask = kwargs.get("return_attention_mask")
    columns = _COLUMNS[
        "token_type_ids" in names if types is None else bool(types),
        "attention_mask" in names if mask is None else bool(mask),
    ]
    if kwargs.get("return_special_tokens_mask"):
        columns = (*columns, "special_tokens_mask")
    if kwargs.get("return_offsets_mapping"):
        columns = (*columns, "offset_mapping")
    return (*columns, "length") if kwargs.get("return_length") else columns


def _warn_too_long(tokenizer: Any, rows: Any) -> None:
    limit = tokenizer.model_max_length
    if limit < _ENDLESS and max(map(len, rows)) > limit:
        row = next(row for row in rows if len(row) > limit)
        tokenizer._eventual_warn_about_too_long_sequence(row, None, True)


def cleans_up(tokenizer: Any, wanted: bool | None) -> bool:
    """Whether `decode` cleans up spaces. By default, transformers 5 does not clean up for BPE models, and warns."""
    if not (tokenizer.clean_up_tokenization_spaces if wanted is None else wanted):
        return False
    anyway = tokenizer.__dict__.get(_CLEAN_UP_ANYWAY)
    if anyway is None or anyway or model_kind(tokenizer._tokenizer) != "BPE":
        return True
    _logger.warning_once(
        f"clean_up_tokenization_spaces=True is ignored for the BPE tokenizer {type(tokenizer).__name__}, because it"
        " would remove spaces of the text. To silence this warning, set clean_up_tokenization_spaces=False; to clean up"
        f" anyway, set {_CLEAN_UP_ANYWAY}=True."
    )
    return False


def _arrays(columns: dict[str, list[Any]]) -> dict[str, Any] | None:
    """Return the columns as int64 arrays.

    Return None for rows that are empty or differ in length, where transformers raises or makes other arrays.
    """
    sizes = set(map(len, columns["input_ids"]))
    if len(sizes) != 1 or 0 in sizes:
        return None
    return {name: np.array(rows, dtype=np.int64) for name, rows in columns.items()}


def _tensors(columns: dict[str, Any]) -> dict[str, Any] | None:
    try:
        import torch

        device = torch.empty(0).device  # a program may set another default than the CPU
    except (ImportError, RuntimeError, AssertionError):
        return None  # transformers reports the error
    return {name: torch.from_numpy(array).to(device) for name, array in columns.items()}


def _batch(columns: dict[str, Any], encodings: list[Any], n_sequences: int) -> BatchEncoding:
    """Make a `BatchEncoding` without the copies of its constructor."""
    batch = _new(BatchEncoding)
    attributes = batch.__dict__
    attributes["data"] = columns
    attributes["_encodings"] = encodings
    attributes["_n_sequences"] = n_sequences
    return batch

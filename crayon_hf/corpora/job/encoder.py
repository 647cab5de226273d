"""The tokenizer of a job, its exact identity, and the encoding of documents with it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf import _core
from crayon_hf.corpora import distribute
from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary
from crayon_hf.corpora.job.end_of_text import find_eos, find_pad
from crayon_hf.corpora.job.options import Options
from crayon_hf.fingerprints import digest_of
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer

_NATIVE = ("int32", "uint16", "uint32")
_SLICE = 4 << 20
"""Bytes of text that a reference library encodes at a time, because it makes objects of every token."""


class JobTokenizer(NamedTuple):
    """An open tokenizer and its identity."""

    tokenizer: Any
    """The `Tokenizer`, or its `distribute.Label` while it is sent to another process."""
    name: str
    """The name or path by which the tokenizer was opened; "" for an open tokenizer."""
    digest: str
    """SHA-256 (hex) of everything that its ids depend on."""
    size: int
    """The number of tokens, including added ones."""
    largest_id: int


def job_tokenizer(tokenizer: str | Tokenizer) -> JobTokenizer:
    """Open a tokenizer by its name or path, or wrap an open one.

    Raises:
        UnsupportedError: The tokenizer has components written in Python, whose behaviour has no digest.
    """
    if isinstance(tokenizer, str):
        opened, name = open_tokenizer(tokenizer), tokenizer
    elif isinstance(tokenizer, Tokenizer):
        opened, name = tokenizer, ""
    else:
        raise TypeError(f"tokenizer is {type(tokenizer).__name__}, expected a name, a path or a Tokenizer")
    largest = max(opened.get_vocab().values(), default=0)
    return JobTokenizer(opened, name, digest_of(opened), opened.get_vocab_size(), largest)


class Work(NamedTuple):
    """The settings that all tasks of a job share."""

    tokenizer: JobTokenizer
    options: Options
    batch_bytes: int

    def sent(self) -> tuple[Work, distribute.Parcel]:
        """The work in a form to send to other processes, and the tokenizer's parcel."""
        label, parcel = distribute.pack(self.tokenizer.tokenizer)
        return self._with(label), parcel

    def plan(self, fetch: Callable[[], Any], threads: int) -> Encoding:
        """Call `plan_encoding` for work that was sent to this process. The tasks of the process share the result.

        `fetch` gets the tokenizer's parcel if this machine lacks the cartridge.
        """
        return _planned(self._with(distribute.unpack(self.tokenizer.tokenizer, fetch)), threads)

    def _with(self, tokenizer: Any) -> Work:
        return self._replace(tokenizer=self.tokenizer._replace(tokenizer=tokenizer))


class Encoding(NamedTuple):
    """The prepared encoder of a job, for any number of tasks."""

    work: Work
    threads: int
    encoder: DocumentEncoder
    settings: ShardSettings
    """The settings of the format's writers."""
    pad_id: int | None
    """The id that pads sequences, if asked for."""
    has_read: Callable[[], object] = bool
    """Called when the task has read its input. The next task of this process may then read, while the files of this
    one are synced to disk."""


def plan_encoding(work: Work, threads: int) -> Encoding:
    """Prepare the encoder of a job.

    Raises:
        JobError: The end-of-text or padding token is not known.
        FormatError: The vocabulary is too large for the format.
        ValueError: `append_eos` would repeat a token, because the special tokens around a text end with it.
    """
    tokenizer, options, _ = work
    opened, format = tokenizer.tokenizer, FORMATS[options.format]
    eos = find_eos(opened, tokenizer.name or None, options.eos) if options.append_eos else None
    vocabulary = Vocabulary(tokenizer.size, tokenizer.largest_id, tokenizer.name, eos)
    format.check(vocabulary)
    suffix = () if eos is None else (eos,)
    dtype = format.dtype(vocabulary)
    if eos is not None and options.add_special_tokens and _adds_last(opened, dtype, eos):
        raise ValueError(
            f"the tokenizer's special tokens end a text with {opened.id_to_token(eos)!r} already: give "
            "add_special_tokens or append_eos, not both"
        )
    encoder = DocumentEncoder(opened, dtype, suffix, format.suffix_empty, options.add_special_tokens, threads)
    pad = find_pad(opened, tokenizer.name or None, options) if options.remainder == "pad" else None
    return Encoding(work, threads, encoder, ShardSettings(vocabulary, options.sequence_length), pad)


def _adds_last(tokenizer: Tokenizer, dtype: np.dtype[Any], id: int) -> bool:
    """Whether the special tokens that the tokenizer adds at the end of a text end with this id."""
    begins, ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    plain, special = (
        DocumentEncoder(tokenizer, dtype, (), True, special, 1).encode(b"a", begins, ends)[0].tolist()
        for special in (False, True)
    )
    return special[-1:] == [id] and len(special) > len(plain) and plain[-1:] != [id]


_planned = functools.lru_cache(maxsize=1)(plan_encoding)


class DocumentEncoder:
    """Encodes documents to ids of one dtype. Threads may share it; their calls run one by one, each on all threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        dtype: np.dtype[Any],
        suffix: tuple[int, ...],
        suffix_empty: bool,
        add_special_tokens: bool,
        threads: int,
    ) -> None:
        """`suffix` follows every document, or, if `suffix_empty` is False, only documents that have tokens."""
        self._engine: Any = tokenizer._current_engine()
        self._as_text = bool(tokenizer.encode_special_tokens)
        self.dtype = dtype
        self._suffix, self._suffix_empty = suffix, suffix_empty
        self._add_special_tokens, self._threads = add_special_tokens, threads
        self._turn = threading.Lock()

    def encode(
        self, data: Any, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Encode the documents ``data[begins[i]:ends[i]]``. Returns (ids, row_splits)."""
        with self._turn:
            if not isinstance(self._engine, _core.Engine):
                return self._delegated(memoryview(data), begins, ends)
            ids, splits = self._engine.encode_ranges(
                data,
                begins,
                ends,
                add_special_tokens=self._add_special_tokens,
                special_as_text=self._as_text,
                threads=self._threads,
                suffix=self._suffix,
                dtype=self.dtype.name if self.dtype.name in _NATIVE else "int32",
                suffix_empty=self._suffix_empty,
            )
            return ids, splits

    def _delegated(
        self, data: memoryview, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        parts: list[Any] = [np.zeros(0, self.dtype)]
        counts: list[Any] = [np.zeros(1, np.int64)]
        suffix = np.array(self._suffix, self.dtype)  # raises OverflowError for an id that the dtype cannot hold
        first = 0
        while first < len(begins):
            last = first + 1 + int(np.searchsorted(np.cumsum(ends[first:] - begins[first:]), _SLICE))
            texts = [bytes(data[begins[i] : ends[i]]) for i in range(first, min(last, len(begins)))]
            ids, splits = self._engine.encode_ragged(texts, self._add_special_tokens, self._as_text, self._threads)
            gets = np.ones(len(texts), bool) if self._suffix_empty else np.diff(splits) > 0
            places = np.repeat(splits[1:][gets], len(self._suffix))
            parts.append(np.insert(ids.astype(self.dtype), places, np.tile(suffix, int(gets.sum()))))
            counts.append(np.diff(splits) + len(self._suffix) * gets)
            first += len(texts)
        return np.concatenate(parts), np.cumsum(np.concatenate(counts))

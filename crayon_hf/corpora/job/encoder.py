"""The tokenizer of a job: what it is, to the digit, and documents to ids with it."""

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
from crayon_hf.errors import JobError
from crayon_hf.fingerprints import digest_of
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer

_NATIVE = ("int32", "uint16", "uint32")
_SLICE = 4 << 20
"""A delegated tokenizer gets its texts by so many bytes: its library makes objects of every token."""


class JobTokenizer(NamedTuple):
    """A tokenizer that is open, and what tells it from every other."""

    tokenizer: Tokenizer
    name: str
    """What it was opened by; "" for an object."""
    digest: str
    """SHA-256 (hex) of all that its ids depend on."""
    size: int
    """Tokens, added ones too."""
    largest_id: int


def job_tokenizer(tokenizer: str | Tokenizer) -> JobTokenizer:
    """Open a tokenizer by its name or path, or take one as it is.

    UnsupportedError for one with components that are written in Python: nothing says what they do.
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
    """What all tasks of a job have in common."""

    tokenizer: JobTokenizer
    options: Options
    batch_bytes: int


class Encoding(NamedTuple):
    """How the documents of a job become ids: planned once for any number of tasks."""

    work: Work
    threads: int
    encoder: DocumentEncoder
    settings: ShardSettings
    """What the format's writers are told."""
    pad_id: int | None
    """What fills sequences up, where that is asked for."""


def plan_encoding(work: Work, threads: int) -> Encoding:
    """What a job encodes with.

    JobError where it is not known which token ends a document or fills a sequence up, FormatError for a vocabulary
    that is too large. ValueError where the special tokens around a text end with that token already: it would be there
    twice.
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


class Sent(NamedTuple):
    """What all tasks of a job have in common, on its way to other processes."""

    label: distribute.Label | None
    """None: the tokenizer is opened by its name."""
    work: Work
    """Without the tokenizer."""

    @classmethod
    def of(cls, work: Work) -> tuple[Sent, distribute.Parcel]:
        """It, and the tokenizer's parcel."""
        label, parcel = distribute.pack(work.tokenizer.tokenizer)
        return cls(label, _with(work, None)), parcel

    @classmethod
    def here(cls, work: Work) -> tuple[Sent, distribute.Parcel | None]:
        """The same for processes of this machine."""
        return (cls(None, _with(work, None)), None) if work.tokenizer.name else cls.of(work)

    def plan(self, fetch: Callable[[], Any], threads: int) -> Encoding:
        """`plan_encoding` once in a process, which gets one task after the other; `fetch` gives the parcel where it is
        needed."""
        if self.label is not None:
            return _planned(_with(self.work, distribute.unpack(self.label, fetch)), threads)
        tokenizer = job_tokenizer(self.work.tokenizer.name)
        if tokenizer.digest != self.work.tokenizer.digest:
            raise JobError(f"the tokenizer {tokenizer.name!r} was replaced while the job began: start it again")
        return plan_encoding(self.work._replace(tokenizer=tokenizer), threads)


_planned = functools.lru_cache(maxsize=1)(plan_encoding)


def _with(work: Work, tokenizer: Any) -> Work:
    return work._replace(tokenizer=work.tokenizer._replace(tokenizer=tokenizer))


def _adds_last(tokenizer: Tokenizer, dtype: np.dtype[Any], id: int) -> bool:
    """Whether the special tokens around a text end with this one."""
    begins, ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    plain, special = (
        DocumentEncoder(tokenizer, dtype, (), True, special, 1).encode(b"a", begins, ends)[0].tolist()
        for special in (False, True)
    )
    return special[-1:] == [id] and len(special) > len(plain) and plain[-1:] != [id]


class DocumentEncoder:
    """Documents to ids of one dtype. Any thread may use it; they wait for each other, as each takes all threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        dtype: np.dtype[Any],
        suffix: tuple[int, ...],
        suffix_empty: bool,
        add_special_tokens: bool,
        threads: int,
    ) -> None:
        """`suffix` follows every document; with `suffix_empty` False not one that has no token."""
        self._engine: Any = tokenizer._current_engine()
        self._as_text = bool(tokenizer.encode_special_tokens)
        self.dtype = dtype
        self._suffix, self._suffix_empty = suffix, suffix_empty
        self._add_special_tokens, self._threads = add_special_tokens, threads
        self._turn = threading.Lock()

    def encode(
        self, data: Any, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """(ids, row_splits): document i is ``data[begins[i]:ends[i]]``, and its ids are between two splits."""
        with self._turn:
            if not isinstance(self._engine, _core.Engine):
                return self._delegated(memoryview(data), begins, ends)
            ids, splits = self._engine.encode_spans(
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
        suffix = np.array(self._suffix, self.dtype)
        parts: list[npt.NDArray[Any]] = []
        counts = np.zeros(len(begins) + 1, np.int64)
        first = 0
        while first < len(begins):
            last = first + 1 + int(np.searchsorted(np.cumsum(ends[first:] - begins[first:]), _SLICE))
            last = min(last, len(begins))
            texts = [bytes(data[begins[i] : ends[i]]) for i in range(first, last)]
            ids, splits = self._engine.encode_ragged(texts, self._add_special_tokens, self._as_text, self._threads)
            for row in range(last - first):
                document = ids[splits[row] : splits[row + 1]].astype(self.dtype)
                parts.append(document)
                counts[first + row + 1] = len(document)
                if len(suffix) and (len(document) or self._suffix_empty):
                    parts.append(suffix)
                    counts[first + row + 1] += len(suffix)
            first = last
        return np.concatenate(parts) if parts else np.zeros(0, self.dtype), np.cumsum(counts)

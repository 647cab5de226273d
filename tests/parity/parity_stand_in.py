"""Tokenizers with our interface, made from the reference, some of them with known defects.

Tests use them to show that a comparison finds such differences. Child processes import this module, too.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np


class Agrees:
    """A tokenizer of ``tokenizers`` that has our extra calls. Faulty subclasses override a call, or `changed`, through
    which all encodings pass."""

    def __init__(self, tokenizer: Any) -> None:
        vars(self)["tokenizer"] = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.tokenizer, name, value)

    def changed(self, text: str, encoding: Any) -> Any:
        return encoding

    def encode(self, sequence: Any, *rest: Any, **options: Any) -> Any:
        return self.changed(str(sequence), self.tokenizer.encode(sequence, *rest, **options))

    def encode_batch(self, input: Any, **options: Any) -> list[Any]:
        options.pop("threads", None)
        if self.padding:  # pad to the longest of the batch
            return self.tokenizer.encode_batch(input, **options)
        return [self.encode(*item if isinstance(item, tuple) else (item,), **options) for item in input]

    def encode_batch_fast(self, input: Any, **options: Any) -> list[Any]:
        return self.encode_batch(input, **options)

    def encode_ragged(self, texts: list[Any], **options: Any) -> tuple[Any, Any]:
        decoded = [text.decode() if isinstance(text, bytes) else text for text in texts]
        return ragged([encoding.ids for encoding in self.encode_batch(decoded, **options)])

    def count_tokens(self, texts: list[str], **options: Any) -> list[int]:
        return [len(encoding) for encoding in self.encode_batch(texts, **options)]


def ragged(rows: list[Any]) -> tuple[Any, Any]:
    ids = np.array([id for row in rows for id in row], dtype=np.int32)
    return ids, np.cumsum([0, *map(len, rows)], dtype=np.int64)


class Changed:
    """An Encoding with some fields replaced."""

    def __init__(self, encoding: Any, **fields: Any) -> None:
        self._encoding = encoding
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoding, name)

    def __len__(self) -> int:
        return len(self.ids)


class WrongIds(Agrees):
    """Gives other ids for texts that have an e with an acute accent and, somewhere after it, a digit."""

    def changed(self, text: str, encoding: Any) -> Any:
        wrong = any("0" <= ch <= "9" for ch in text.partition("\u00e9")[2])
        return Changed(encoding, ids=[0, *encoding.ids[1:]]) if wrong else encoding


class WrongOffsets(Agrees):
    """Gives a last offset that is one too large, in texts that end in white space."""

    def changed(self, text: str, encoding: Any) -> Any:
        if not (encoding.offsets and text[-1:].isspace()):
            return encoding
        start, end = encoding.offsets[-1]
        return Changed(encoding, offsets=[*encoding.offsets[:-1], (start, end + 1)])


class Raises(Agrees):
    """Raises an error of its own for texts with NUL."""

    def changed(self, text: str, encoding: Any) -> Any:
        if "\x00" in text:
            raise KeyError("nul")
        return encoding


class WrongRagged(Agrees):
    """Has a fast path, encode_ragged, that loses the last id of texts with a tab."""

    def encode_ragged(self, texts: list[Any], **options: Any) -> tuple[Any, Any]:
        ids, splits = super().encode_ragged(texts, **options)
        rows = [ids[start:end] for start, end in pairwise(splits)]
        return ragged([row[:-1] if text in ("\t", b"\t") else row for row, text in zip(rows, texts, strict=True)])


class WrongBytes(Agrees):
    """Loses bytes that are not UTF-8, as a round trip through text does."""

    def encode_bytes(self, data: bytes) -> list[int]:
        return list(data.decode("utf-8", "replace").encode())

    def decode_bytes(self, ids: list[int]) -> bytes:
        return bytes(ids)

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return bytes(ids).decode("utf-8", "replace")


class WrongStride(Agrees):
    """Truncates to windows that do not overlap, whatever the stride."""

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        self.tokenizer.enable_truncation(max_length, **{**options, "stride": 0})


class WrongCount(Agrees):
    """Counts one token too many."""

    def count_tokens(self, texts: list[str], **options: Any) -> list[int]:
        return [count + 1 for count in super().count_tokens(texts, **options)]


class WrongInBatch(Agrees):
    """Gives wrong results for texts in a batch, as if state leaked from one text to the next, and right ones for single
    texts."""

    def encode_batch(self, input: Any, **options: Any) -> list[Any]:
        return [
            Changed(encoding, ids=[*encoding.ids, 0]) if i and "x" in str(input[i - 1]) else encoding
            for i, encoding in enumerate(super().encode_batch(input, **options))
        ]


class WrongDecoding(Agrees):
    """Decodes to text in upper case."""

    def decode(self, ids: Any, **options: Any) -> str:
        return self.tokenizer.decode(ids, **options).upper()

    def decode_batch(self, sequences: Any, **options: Any) -> list[str]:
        return [self.decode(ids, **options) for ids in sequences]


class CrashesOnCafe(Agrees):
    """Ends the process on texts with one certain word, in any call."""

    def encode_batch(self, input: Any, **options: Any) -> list[Any]:
        if any("caf\u00e9" in str(text) for text in input):
            os._exit(70)
        return super().encode_batch(input, **options)

    def encode_bytes(self, data: bytes) -> list[int]:
        return list(data)

    def decode_bytes(self, ids: list[int]) -> bytes:
        return bytes(ids)


class Delegated(Agrees):
    """Reports that the reference encodes."""

    def engine_report(self) -> dict[str, Any]:
        return {"engine": "delegated", "cpu": "scalar", "reason": "a component is not native"}


class OfTransformers:
    """A tokenizer of transformers whose single calls give other ids for a text with an e with an acute accent."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, text: Any, *arguments: Any, **named: Any) -> Any:
        encoded = self._tokenizer(text, *arguments, **named)
        if "\u00e9" in text:  # for a list, only if it is one of the texts
            encoded["input_ids"] = [0, *encoded["input_ids"][1:]]
        return encoded


# -- functions for `--ours`: from a vocabulary to a tokenizer


def opened(vocabulary: Any) -> Any:
    """Open a vocabulary with the reference library, or with ours if the reference has another interface."""
    return vocabulary.open_ours() if vocabulary.kind == "tiktoken" else vocabulary.open_reference()


def agrees(vocabulary: Any) -> Any:
    return vocabulary.open_reference() if vocabulary.kind == "transformers" else Agrees(opened(vocabulary))


def wrong_ids(vocabulary: Any) -> Any:
    return (OfTransformers if vocabulary.kind == "transformers" else WrongIds)(opened(vocabulary))


def crashes_on_cafe(vocabulary: Any) -> Any:
    return CrashesOnCafe(vocabulary.open_reference())


def delegated(vocabulary: Any) -> Any:
    return Delegated(vocabulary.open_reference())


def cannot_open(vocabulary: Any) -> Any:
    raise ValueError("this vocabulary cannot be opened")


# -- functions for `--peer` of the benchmark: from the path of a tokenizer.json to a function from texts to ids


def wrong_lists(path: str) -> Any:
    return lambda texts: [[0] * len(text) for text in texts]

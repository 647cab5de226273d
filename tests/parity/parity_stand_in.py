"""Tokenizers with the interface of ours, made from the reference, some of them wrong in a known way.

The tests use them to show that a comparison finds such differences. Child processes import this module, too.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np


class Agrees:
    """The reference of a tokenizer.json with our extra calls."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @property
    def encode_special_tokens(self) -> bool:
        return self._tokenizer.encode_special_tokens

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._tokenizer.encode_special_tokens = value

    @property
    def truncation(self) -> Any:
        return self._tokenizer.truncation

    @property
    def padding(self) -> Any:
        return self._tokenizer.padding

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        self._tokenizer.enable_truncation(max_length, **options)

    def no_truncation(self) -> None:
        self._tokenizer.no_truncation()

    def enable_padding(self, **options: Any) -> None:
        self._tokenizer.enable_padding(**options)

    def no_padding(self) -> None:
        self._tokenizer.no_padding()

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        return self._tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[Any]:
        if self.padding:  # to the longest of the batch
            return self._tokenizer.encode_batch(input, is_pretokenized, add_special_tokens)
        inputs = [item if isinstance(item, tuple) else (item, None) for item in input]
        return [self.encode(first, second, is_pretokenized, add_special_tokens) for first, second in inputs]

    encode_batch_fast = encode_batch

    def encode_ragged(self, texts: list[str], add_special_tokens: bool = True, threads: int = 0) -> tuple[Any, Any]:
        decoded = [text.decode() if isinstance(text, bytes) else text for text in texts]
        rows = [encoding.ids for encoding in self.encode_batch(decoded, False, add_special_tokens)]
        splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return np.array([id for row in rows for id in row], dtype=np.int32), splits

    def count_tokens(self, texts: list[str], add_special_tokens: bool = True, threads: int = 0) -> list[int]:
        return [len(encoding) for encoding in self.encode_batch(texts, False, add_special_tokens)]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        return self._tokenizer.decode_batch(sequences, skip_special_tokens)


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
    """Other ids for a text with a digit somewhere after an e with an acute accent."""

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        encoding = super().encode(sequence, pair, is_pretokenized, add_special_tokens)
        _, found, rest = str(sequence).partition("\u00e9")
        if found and any("0" <= ch <= "9" for ch in rest):
            return Changed(encoding, ids=[0, *encoding.ids[1:]])
        return encoding


class WrongOffsets(Agrees):
    """The last offset one too far, in texts that end in white space."""

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        encoding = super().encode(sequence, pair, is_pretokenized, add_special_tokens)
        if encoding.offsets and str(sequence)[-1:].isspace():
            start, end = encoding.offsets[-1]
            return Changed(encoding, offsets=[*encoding.offsets[:-1], (start, end + 1)])
        return encoding


class Raises(Agrees):
    """An error of its own for NUL."""

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        if "\x00" in str(sequence):
            raise KeyError("nul")
        return super().encode(sequence, pair, is_pretokenized, add_special_tokens)


class TextError(TypeError):
    """An error of ours, of a class below the reference's."""


class OwnErrors(Agrees):
    """Our own class of error where the reference raises TypeError."""

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        try:
            return super().encode(sequence, pair, is_pretokenized, add_special_tokens)
        except TypeError as error:
            raise TextError("not a text") from error


class WrongRagged(Agrees):
    """A fast path that loses the last id of texts with a tab."""

    def encode_ragged(self, texts: list[Any], add_special_tokens: bool = True, threads: int = 0) -> tuple[Any, Any]:
        ids, splits = super().encode_ragged(texts, add_special_tokens)
        rows = [ids[start:end] for start, end in pairwise(splits)]
        rows = [row[:-1] if text in ("\t", b"\t") else row for row, text in zip(rows, texts, strict=True)]
        return np.concatenate([*rows, ids[:0]]), np.cumsum([0, *map(len, rows)], dtype=np.int64)


class WrongFast(Agrees):
    """A batch call without offsets that gives other ids."""

    def encode_batch_fast(self, *arguments: Any, **named: Any) -> list[Any]:
        return [Changed(encoding, ids=[*encoding.ids, 1]) for encoding in self.encode_batch(*arguments, **named)]


class WrongBytes(Agrees):
    """Loses bytes that are not UTF-8, as a round trip through text does."""

    def encode_bytes(self, data: bytes) -> list[int]:
        return list(data.decode("utf-8", "replace").encode())

    def decode_bytes(self, ids: list[int]) -> bytes:
        return bytes(ids)

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return bytes(ids).decode("utf-8", "replace")


class WrongStride(Agrees):
    """Windows that do not overlap."""

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        super().enable_truncation(max_length, **{**options, "stride": 0})


class WrongPadding(Agrees):
    """Always on the right."""

    def enable_padding(self, **options: Any) -> None:
        super().enable_padding(**{**options, "direction": "right"})


class WrongCount(Agrees):
    """One token too many."""

    def count_tokens(self, texts: list[str], add_special_tokens: bool = True, threads: int = 0) -> list[int]:
        return [count + 1 for count in super().count_tokens(texts, add_special_tokens)]


class WrongInBatch(Agrees):
    """State that leaks from one text of a batch to the next: wrong there, right alone."""

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[Any]:
        encodings = super().encode_batch(input, is_pretokenized, add_special_tokens)
        return [
            Changed(encoding, ids=[*encoding.ids, 0]) if i and "x" in str(input[i - 1]) else encoding
            for i, encoding in enumerate(encodings)
        ]


class WrongDecoding(Agrees):
    """Decoded text in upper case."""

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return super().decode(ids, skip_special_tokens).upper()

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        return [self.decode(ids, skip_special_tokens) for ids in sequences]


class Crashes(Agrees):
    """Ends the process, as a segmentation fault would."""

    def encode_batch(self, *arguments: Any, **named: Any) -> list[Any]:
        os._exit(70)


class CrashesOnCafe(Agrees):
    """Ends the process on one word, wherever it is called."""

    def encode_batch(self, input: Any, *arguments: Any, **named: Any) -> list[Any]:
        if any("caf\u00e9" in str(text) for text in input):
            os._exit(70)
        return super().encode_batch(input, *arguments, **named)

    def encode_bytes(self, data: bytes) -> list[int]:
        return list(data)

    def decode_bytes(self, ids: list[int]) -> bytes:
        return bytes(ids)


class Delegated(Agrees):
    """Says that the reference does the work."""

    def engine_report(self) -> dict[str, Any]:
        return {"engine": "delegated", "cpu": "scalar", "reason": "a component is not native"}


class Scalar(Agrees):
    """Runs on one instruction set, whatever was asked for."""

    def engine_report(self) -> dict[str, Any]:
        return {"engine": "native", "cpu": "scalar", "reason": None}


class OfTiktoken:
    """A tiktoken.Encoding with our interface, for ``OurTiktokenSide``."""

    encode_special_tokens = False

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def encode(self, text: str) -> Any:
        ids = (
            self._encoding.encode_ordinary(text)
            if self.encode_special_tokens
            else self._encoding.encode(text, allowed_special="all")
        )
        starts = self._encoding.decode_with_offsets(ids)[1]
        return Changed(None, ids=ids, offsets=[(start, start + 1) for start in starts])

    def encode_batch(self, texts: list[str]) -> list[Any]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return self._encoding.decode(ids)

    def decode_bytes(self, ids: Any) -> bytes:
        return self._encoding.decode_bytes(ids)


class WrongOfTiktoken(OfTiktoken):
    """Other ids for a text with an e with an acute accent."""

    def encode(self, text: str) -> Any:
        encoding = super().encode(text)
        return Changed(encoding, ids=[0, *encoding.ids[1:]]) if "\u00e9" in text else encoding


class OfTransformers:
    """A tokenizer of transformers whose single calls give other ids for a text with an e with an acute accent."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, text: Any, *arguments: Any, **named: Any) -> Any:
        encoded = self._tokenizer(text, *arguments, **named)
        if "\u00e9" in text:  # a list of texts has it only as a text of its own
            encoded["input_ids"] = [0, *encoded["input_ids"][1:]]
        return encoded


def agrees(vocabulary: Any) -> Any:
    reference = vocabulary.open_reference()
    return {"tokenizers": Agrees, "tiktoken": OfTiktoken, "transformers": lambda opened: opened}[vocabulary.kind](
        reference
    )


def wrong_ids(vocabulary: Any) -> Any:
    wrong = {"tokenizers": WrongIds, "tiktoken": WrongOfTiktoken, "transformers": OfTransformers}
    return wrong[vocabulary.kind](vocabulary.open_reference())


def crashes(vocabulary: Any) -> Any:
    return Crashes(vocabulary.open_reference())


def crashes_on_cafe(vocabulary: Any) -> Any:
    return CrashesOnCafe(vocabulary.open_reference())


def delegated(vocabulary: Any) -> Any:
    return Delegated(vocabulary.open_reference())


def scalar(vocabulary: Any) -> Any:
    return Scalar(vocabulary.open_reference())


def cannot_open(vocabulary: Any) -> Any:
    raise ValueError("this vocabulary cannot be opened")


# -- peers for the benchmark: from the path of a tokenizer.json to a function from texts to lists of ids


def right_peer(path: str) -> Any:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(path)

    def encode(texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]

    encode.decode = lambda ids: tokenizer.decode_batch(ids, skip_special_tokens=False)  # type: ignore[attr-defined]
    return encode


def wrong_peer(path: str) -> Any:
    encode = right_peer(path)
    return lambda texts: [[0, *ids[1:]] if "\u00e9" in text else ids for text, ids in zip(texts, encode(texts))]  # noqa: B905


def crashing_peer(path: str) -> Any:
    encode = right_peer(path)
    return lambda texts: os._exit(70) if any("\u00e9" in text for text in texts) else encode(texts)


def closed_peer(path: str) -> Any:
    raise ValueError("this peer opens nothing")

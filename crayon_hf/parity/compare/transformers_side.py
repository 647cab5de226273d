"""Two sides of a comparison: stock transformers, in a process of its own, and crayon_hf's classes for transformers."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from .children import Child, command_by_path
from .records import Item, Mode, Outcome, attempt, each, encoding_fields, outcome_of

COLUMNS = ("input_ids", "token_type_ids", "attention_mask", "special_tokens_mask", "offset_mapping")
ARRAYS = ("input_ids", "token_type_ids", "attention_mask")


class ReferenceDiedError(RuntimeError):
    """The process of the reference ended, or gave a result that cannot be compared."""


class NotStockError(RuntimeError):
    """The imported transformers is not stock, or its tokenizer cannot be compared."""


def open_tokenizer(package: str, directory: str) -> Any:
    """Open a directory with a package's ``AutoTokenizer``, offline. Raise NotStockError if the tokenizer is not fast.

    A tokenizer without a padding token gets one of its own tokens, so that padding can be compared.
    """
    tokenizer = import_module(package).AutoTokenizer.from_pretrained(directory, local_files_only=True)
    if not tokenizer.is_fast:
        raise NotStockError(
            f"transformers has {type(tokenizer).__name__} only in Python; crayon-hf returns it unchanged, "
            "so a comparison shows nothing"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return tokenizer


class TransformersSide:
    """A fast tokenizer of transformers, or ours: called with batches, with single inputs and, if padded, for arrays."""

    FIELDS = (*COLUMNS, "encoding", "overflowing", "single", "arrays", "decoded", "decoded_with_special")

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        with _using(self.tokenizer, mode) as options:
            everything: dict[str, Any] = {f"return_{name}": True for name in COLUMNS[1:] if name != "offset_mapping"}
            everything |= {"return_offsets_mapping": True, "return_overflowing_tokens": mode.max_length is not None}

            def batch(chosen: list[Item]) -> list[Any]:
                return _rows(self._call(chosen, mode, options | everything), len(chosen))

            rows = each(batch, lambda item: batch([item])[0], list(items))
            single = [attempt(self._single, item, mode, options) for item in items]
            arrays: list[Any] = [None] * len(items)
            if mode.pad:

                def as_arrays(chosen: list[Item]) -> list[Any]:
                    return _arrays(self._call(chosen, mode, {**options, "return_tensors": "np"}), len(chosen))

                arrays = each(as_arrays, lambda item: as_arrays([item])[0], list(items))
            found = [outcome_of(_fields, *parts) for parts in zip(rows, single, arrays, items, strict=True)]
        self._decode(found)
        return found

    def _call(self, items: Sequence[Item], mode: Mode, options: dict[str, Any]) -> Any:
        first, second = _split(items, mode)
        return self.tokenizer(first, second, **options)

    def _single(self, item: Item, mode: Mode, options: dict[str, Any]) -> dict[str, Any]:
        first, second = _split([item], mode)
        return dict(self.tokenizer(first[0], None if second is None else second[0], **options))

    def _decode(self, outcomes: list[Outcome]) -> None:
        done = [outcome for outcome in outcomes if not outcome.error]
        sequences = [outcome.fields["input_ids"] for outcome in done]
        for name, skip in (("decoded", True), ("decoded_with_special", False)):
            batch = partial(self.tokenizer.batch_decode, skip_special_tokens=skip)
            one = partial(self.tokenizer.decode, skip_special_tokens=skip)
            for outcome, text in zip(done, each(batch, one, sequences), strict=True):
                outcome.fields[name] = ("error", text.error[0]) if isinstance(text, Outcome) else text


@contextmanager
def _using(tokenizer: Any, mode: Mode) -> Iterator[dict[str, Any]]:
    """Yield the arguments with which a call of the tokenizer has the mode. On exit, restore its truncation side."""
    options: dict[str, Any] = {
        "add_special_tokens": mode.add_special_tokens,
        "is_split_into_words": mode.words,
        "split_special_tokens": mode.special_as_text,
    }
    if mode.max_length is not None:
        options |= {"truncation": mode.strategy, "max_length": mode.max_length, "stride": mode.stride}
    if mode.pad:
        fixed = mode.pad_length is not None and mode.max_length is None
        options |= {"padding": "max_length" if fixed else "longest", "padding_side": mode.pad}
        options |= {"pad_to_multiple_of": mode.pad_multiple} | ({"max_length": mode.pad_length} if fixed else {})
    before = tokenizer.truncation_side
    tokenizer.truncation_side = mode.direction
    try:
        yield options
    finally:
        tokenizer.truncation_side = before


def _split(items: Sequence[Item], mode: Mode) -> tuple[list[Any], list[Any] | None]:
    columns = [[text.split(" ") if mode.words else text for text in column] for column in zip(*items, strict=True)]
    return columns[0], columns[1] if len(columns) > 1 else None


def _rows(encoded: Any, count: int) -> list[list[tuple[Any, dict[str, Any]]]]:
    """Return, for each input, pairs of an Encoding and its row of every column: first its own, then its windows'."""
    owners = encoded.get("overflow_to_sample_mapping", range(count))
    found: list[list[tuple[Any, dict[str, Any]]]] = [[] for _ in range(count)]
    names = [name for name in encoded if name != "overflow_to_sample_mapping"]
    for row, owner in enumerate(owners):
        found[owner].append((encoded.encodings[row], {name: encoded[name][row] for name in names}))
    return found


def _arrays(encoded: Any, count: int) -> list[dict[str, Any]]:
    found = {name: encoded[name] for name in ARRAYS if name in encoded}
    return [
        {name: (str(array.dtype), array.shape[1:], array[row].tolist()) for name, array in found.items()}
        for row in range(count)
    ]


def _fields(rows: list[tuple[Any, dict[str, Any]]], single: Any, arrays: Any, item: Item) -> dict[str, Any]:
    (encoding, columns), *more = rows
    fields: dict[str, Any] = {**columns, "encoding": tuple(encoding_fields(encoding, item).items())}
    if more:
        fields["overflowing"] = [tuple(each.items()) for _, each in more]
    fields["single"] = tuple(single.items())
    if arrays is not None:
        fields["arrays"] = tuple(arrays.items())
    return fields


class StockProcess:
    """The ``Side`` of stock transformers, which runs in a process that never imports crayon_hf."""

    def __init__(self, directory: str) -> None:
        # The child imports this file and its siblings under other names than this process does.
        command = command_by_path([Path(__file__).parent], "transformers_side", directory)
        self.child = Child(command, {"HF_HUB_OFFLINE": "1"})
        opened = self._receive()
        if opened != "open":
            raise ReferenceDiedError(f"stock transformers does not open {directory}: {opened}")

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Return one outcome for each item, in order. Raise ReferenceDiedError if the process ends."""
        self.child.send(pickle.dumps((list(items), asdict(mode))))
        return [Outcome(*parts) for parts in self._receive()]

    def close(self) -> None:
        """End the process."""
        self.child.close()

    def _receive(self) -> Any:
        try:
            return pickle.load(self.child.answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise ReferenceDiedError(f"the process of stock transformers {self.child.ending()}") from None


def serve(directory: str, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests, each a pickled pair of items and a mode, until the input ends."""

    def answer(value: Any) -> None:
        pickle.dump(value, answers)
        answers.flush()

    tokenizer = attempt(open_tokenizer, "transformers", directory)
    if isinstance(tokenizer, Outcome):
        answer(f"{tokenizer.error[0]}: {tokenizer.message}")
        return
    if "crayon_hf" in sys.modules:  # a plugin or a sitecustomize imported it, and may have replaced classes
        answer("crayon_hf was imported there")
        return
    side = TransformersSide(tokenizer)
    answer("open")
    while True:
        try:
            items, mode = pickle.load(requests)
        except EOFError:
            return
        answer([(each.fields, each.error, each.message) for each in side.outcomes(items, Mode(**mode))])


def main(directory: str) -> int:
    """Run stock transformers in this process: read requests from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that libraries print is not an answer
    serve(directory, sys.stdin.buffer, answers)
    return 0

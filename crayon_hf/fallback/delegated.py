"""Delegated mode: a reference library encodes, behind the interface of the compiled ("native") engine.

If the native engine does not support a component, the reference library handles the whole tokenizer: same results,
slower, with one warning.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import DelegatedWarning, TokenIdError
from crayon_hf.fallback import budgets
from crayon_hf.util import validation
from crayon_hf.util.warned import warn_caller

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def warn_delegated(reason: str, reference: str, does: str = "encodes") -> None:
    """Warn once that the library `reference` handles a tokenizer, and why. The warning names the caller's line."""
    message = (
        f"not supported by crayon-hf's engine: {reason}; the {reference} library {does} instead, with the same result "
        "but slower"
    )
    warn_caller(message, DelegatedWarning)


class DelegatedEngine:
    """The base class of both reference engines. Subclasses implement encoding and the vocabulary."""

    cpu = "reference"
    source_digest = ""
    reference = ""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.arguments: tuple[Any, ...] = ()
        """The arguments that make an equal engine, for pickling."""

    def encode_ids(
        self, text: str | bytes, add_special_tokens: bool = True, special_as_text: bool = False
    ) -> list[int]:
        raise NotImplementedError

    def encode(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def id_to_token(self, id: int) -> str | None:
        raise NotImplementedError

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        raise NotImplementedError

    def decode(self, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str:
        raise NotImplementedError

    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        import numpy as np

        rows = self.encode_lists(texts, add_special_tokens, special_as_text)
        splits = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=splits[1:])
        try:
            return np.fromiter((id for row in rows for id in row), np.int32, int(splits[-1])), splits
        except OverflowError:  # a post-processor may add any unsigned id of 32 bits
            number, id = next((i, id) for i, row in enumerate(rows) for id in row if id > np.iinfo(np.int32).max)
            raise ValueError(
                f"id {id} of text {number} does not fit: the largest of this type is {np.iinfo(np.int32).max}; "
                "use encode_batch"
            ) from None

    def count_tokens(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> list[int]:
        return list(map(len, self.encode_lists(texts, add_special_tokens, special_as_text)))

    def count_up_to(
        self,
        texts: Sequence[str | bytes],
        limit: int,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> list[int]:
        return [min(n, limit + 1) for n in self.count_tokens(texts, add_special_tokens, special_as_text, threads)]

    def truncation_place(
        self,
        text: str,
        max_tokens: int,
        cut_off: str = "right",
        add_special_tokens: bool = True,
        special_as_text: bool = False,
    ) -> int:
        return budgets.truncation_place(self, text, max_tokens, cut_off == "left", add_special_tokens, special_as_text)

    def token_index(self, text: str, special_as_text: bool = False) -> budgets.TokenIndex:
        return budgets.TokenIndex(self, text, special_as_text)

    def appender(self, special_as_text: bool = False) -> budgets.Appender:
        return budgets.Appender(self, special_as_text)

    def ids_and_ranges(self, text: str, special_as_text: bool = False) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids without special tokens around the text, and the characters of each id, not trimmed."""
        encoding = self.encode(text, None, False, False, special_as_text)
        return encoding.ids, encoding.offsets

    def decode_batch(
        self,
        sequences: Iterable[Any],
        skip_special_tokens: bool = True,
        unknown_ids: str = "error",
        threads: int = 0,
    ) -> list[str]:
        return [self.decode(ids, skip_special_tokens, unknown_ids) for ids in sequences]

    def encode_columns(self, *arguments: Any) -> None:
        """Return None: only the native engine makes columns without an object for each text."""

    def encode_row(self, *arguments: Any) -> None:
        """Return None: only the native engine makes a row of columns."""

    @property
    def metadata(self) -> str:
        return f'{{"reference":"{self.reference}"}}'

    def info(self) -> dict[str, Any]:
        return {"engine": "delegated", "reference": self.reference, "reason": self.reason}

    def encode_lists(
        self, texts: Sequence[Any], add_special_tokens: bool = True, special_as_text: bool = False, threads: int = 0
    ) -> list[list[int]]:
        validation.check_list(texts)
        decoded = [as_text(text, f"item {i} of the batch") for i, text in enumerate(texts)]
        return [self.encode_ids(text, add_special_tokens, special_as_text) for text in decoded]

    def _known_ids(self, ids: Any, unknown_ids: str = "error") -> list[int]:
        """Return `ids` as a list after checking them, because the references silently drop unknown ids, or panic."""
        strict = validation.is_strict(unknown_ids)
        if isinstance(ids, (str, bytes, int)):
            raise TypeError(f"ids are a sequence of int, got {type(ids).__name__}")
        listed = [operator.index(id) for id in ids]
        unknown = {id for id in set(listed) if id < 0 or id >= 2**32 or self.id_to_token(id) is None}
        if unknown and strict:
            first = next(id for id in listed if id in unknown)
            raise TokenIdError(f"id {first} is not in the vocabulary of {self.get_vocab_size()} tokens")
        return [id for id in listed if id not in unknown] if unknown else listed


def as_text(text: str | bytes, what: str = "text") -> str:
    """Convert a text to str. Errors name it `what`."""
    if isinstance(text, bytes):
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise validation.not_utf8(what, error.start) from error
    refused = validation.kind_refusal(text, what)
    if refused is not None:
        raise refused
    return text

"""Checks of arguments. The errors have the wording of the native engine, also if a reference library encodes."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from crayon_hf.errors import InvalidUtf8Error


def refusal(value: Any, is_pretokenized: bool, what: str) -> TypeError | None:
    """Return the error for one input of `encode`, or None if it is valid.

    A valid input is a text, or a list of texts if `is_pretokenized`. `what` names the input in the error.
    """
    if not is_pretokenized:
        return _text_refusal(value, what)
    if not isinstance(value, (list, tuple)):
        return TypeError(f"{what} is {kind(value)}, expected a list of str (is_pretokenized=True)")
    return _first(_text_refusal(word, f"word {i} of {what}") for i, word in enumerate(value))


def batch_refusal(inputs: Any, is_pretokenized: bool) -> TypeError | None:
    """Return the error for the inputs of `encode_batch`, each an input or a pair, or None if they are valid."""
    if not _is_list(inputs):
        return TypeError(f"input is {kind(inputs)}, expected a list")
    return _first(_item_refusal(item, is_pretokenized, f"item {i} of the batch") for i, item in enumerate(inputs))


def check_list(texts: Any, what: str = "texts") -> None:
    """Raise TypeError unless `texts` is a list of texts. A str, though a sequence of str, is an error."""
    if not _is_list(texts):
        raise TypeError(f"{what} is {kind(texts)}, expected a list")


def kind_refusal(text: Any, what: str) -> TypeError | None:
    """Return the error for a value that is not a str, or None for a str."""
    if isinstance(text, str):
        return None
    hint = " (decode it, or use encode_bytes for bytes that are not text)" if isinstance(text, bytes) else ""
    return TypeError(f"{what} is {kind(text)}, expected str{hint}")


def plain(value: Any, depth: int = 3) -> Any:
    """Convert NumPy arrays, also inside lists and tuples, to lists for the native engine.

    Return `value` itself if it has no arrays. The default `depth` is enough for a batch of pairs of lists of words.
    """
    if type(value).__name__ == "ndarray":
        return value.tolist()
    if not isinstance(value, (list, tuple)) or depth == 0:
        return value
    parts = [part if isinstance(part, str) else plain(part, depth - 1) for part in value]
    if all(part is original for part, original in zip(parts, value, strict=True)):
        return value
    return parts if isinstance(value, list) else tuple(parts)


def is_empty_array(value: Any) -> bool:
    """Whether this is a NumPy array without elements, of any type."""
    return type(value).__name__ == "ndarray" and value.shape == (0,)


def unsigned(value: Any, name: str, bits: int) -> int:
    """Return an integer of at most `bits` bits. Raise TypeError or OverflowError for other values."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {kind(value)}, expected int") from None
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{name} is {number}, expected 0 to {(1 << bits) - 1}")
    return number


def ids_of_32_bits(ids: Sequence[int]) -> Sequence[int]:
    """Check ids, known or not, as the references do. Raise OverflowError for an id beyond 32 bits."""
    for id in ids:
        unsigned(id, "id", 32)
    return ids


def is_strict(unknown_ids: str) -> bool:
    """Whether unknown ids are an error: True for "error", False for "skip"."""
    if unknown_ids not in ("error", "skip"):
        raise ValueError(f"unknown_ids is {unknown_ids!r}, expected 'error' or 'skip'")
    return unknown_ids == "error"


def flag(value: Any, name: str) -> bool:
    """Return a bool. Raise TypeError for other types, even for truthy values."""
    if type(value).__name__ in ("bool_", "bool"):  # Python's, and NumPy's by either of its names
        return bool(value)
    raise TypeError(f"{name} is {kind(value)}, expected bool")


def check_flags(**values: Any) -> None:
    """Check several arguments with `flag`."""
    for name, value in values.items():
        if type(value) is not bool:
            flag(value, name)


def text(value: Any, name: str) -> str:
    """Return a str. Raise TypeError for other types and UnicodeEncodeError for lone surrogates."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {kind(value)}, expected str")
    value.encode()
    return value


def not_utf8(what: str, offset: int) -> InvalidUtf8Error:
    """Return the error for bytes whose first invalid byte is at `offset`. `what` names the bytes in the error."""
    return InvalidUtf8Error(f"{what} is not UTF-8: invalid byte at offset {offset}")


def _item_refusal(item: Any, is_pretokenized: bool, what: str) -> TypeError | None:
    if _is_pair(item, is_pretokenized):
        return refusal(item[0], is_pretokenized, f"the first sequence of {what}") or refusal(
            item[1], is_pretokenized, f"the second sequence of {what}"
        )
    if not is_pretokenized and isinstance(item, (list, tuple)):
        return TypeError(f"{what} is a {type(item).__name__} of {len(item)}, expected str or a pair of str")
    return refusal(item, is_pretokenized, what)


def _is_list(value: Any) -> bool:
    listed = isinstance(value, Sequence) or type(value).__name__ == "ndarray"
    return listed and not isinstance(value, (str, bytes, bytearray))


def _is_pair(item: Any, is_pretokenized: bool) -> bool:
    if not isinstance(item, (list, tuple)) or len(item) != 2:
        return False
    return not is_pretokenized or any(isinstance(part, (list, tuple)) for part in item)


def _text_refusal(text: Any, what: str) -> TypeError | None:
    if not isinstance(text, str):
        return kind_refusal(text, what)
    position = _surrogate_at(text)
    if position is None:
        return None
    return TypeError(f"{what} has a lone surrogate, which is not valid text: U+{ord(text[position]):04X} at {position}")


def _surrogate_at(text: str) -> int | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _first(errors: Iterator[TypeError | None]) -> TypeError | None:
    return next((error for error in errors if error is not None), None)


def kind(value: Any) -> str:
    """Return the name of a value's type for an error message."""
    return "None" if value is None else type(value).__name__

"""Check arguments as the ``tiktoken`` library does, and raise the same classes of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, TypeVar

Key = TypeVar("Key", bytes, str)
_ABOVE = 2**32


def ranks_of(given: Any) -> dict[bytes, int]:
    """Check the argument ``mergeable_ranks``. Raise TypeError or OverflowError for an invalid token or rank."""
    return _checked(given, bytes, _token)


def specials_of(given: Any) -> dict[str, int]:
    """Check the argument ``special_tokens``. Raise TypeError or OverflowError for an invalid token or id."""
    return _checked(given, str, _content)


def _checked(given: Any, kind: type[Key], convert: Callable[[Any], Key]) -> dict[Key, int]:
    if not isinstance(given, dict):
        raise TypeError(f"{type(given).__name__!r} object is not an instance of 'dict'")
    usual = set(map(type, given)) <= {kind} and set(map(type, given.values())) <= {int}
    if usual and (not given or (min(given.values()) >= 0 and max(given.values()) < _ABOVE)):
        return given
    return {convert(key): number_of(value) for key, value in given.items()}


def number_of(value: Any) -> int:
    """Return an id as an int. Raise OverflowError unless it fits 32 bits."""
    number = index(value)
    if not 0 <= number < _ABOVE:
        raise OverflowError(f"{number} is out of the range of ids, 0 to {_ABOVE - 1}")
    return number


def _token(key: Any) -> bytes:
    if isinstance(key, str) or not isinstance(key, Sequence):
        raise TypeError(f"a token is {type(key).__name__}, expected bytes")
    bytes_ = [index(byte) for byte in key]
    if not all(0 <= byte < 256 for byte in bytes_):
        raise OverflowError(f"a token has a number in it that is not a byte: {key!r}")
    return bytes(bytes_)


def _content(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a special token is {type(key).__name__}, expected str")
    return key


def bytes_of(text_or_bytes: str | bytes) -> bytes:
    """Return the bytes of a token that is given as str or bytes. Raise TypeError for other types."""
    data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
    if not isinstance(data, bytes):
        raise TypeError(f"the token is {type(data).__name__}, expected str or bytes")
    return data


def check_text(text: str) -> None:
    """Raise TypeError unless `text` is a str."""
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}, expected str")


def check_threads(num_threads: int | None) -> None:
    """Raise ValueError for a number of threads that is not positive. None is valid: the library chooses the number."""
    if num_threads is not None and num_threads <= 0:
        raise ValueError(f"num_threads is {num_threads}, and must be greater than 0")

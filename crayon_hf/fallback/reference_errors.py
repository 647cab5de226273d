"""Turns errors of the reference libraries into those that the native engine raises.

Panics are no ``Exception``, and what Rust calls an error is `Exception` itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crayon_hf.errors import VocabularyError


@contextmanager
def as_error(kind: type[Exception], what: str) -> Iterator[None]:
    """A panic within becomes an error of this `kind`, which says `what` panicked."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # each extension has a class of its own, which none exports
            raise
        raise kind(f"{what} panicked: {error}") from None


@contextmanager
def of_tokenizers(is_live: bool) -> Iterator[None]:
    """A panic of ``tokenizers`` within becomes a ValueError, an error of a vocabulary a VocabularyError.

    `is_live` says that there may be components written in Python, whose errors come as `Exception`, too.
    """
    try:
        with as_error(ValueError, "the tokenizers library"):
            yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        # A text that cannot be truncated as asked is the caller's matter, too.
        is_callers = is_live or str(error).startswith("Truncation error: ")
        raise (ValueError if is_callers else VocabularyError)(str(error)) from error

"""Convert errors of the reference libraries to those of the native engine.

Panics do not derive from ``Exception``, and errors of Rust are plain `Exception` objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crayon_hf.errors import VocabularyError


@contextmanager
def as_error(kind: type[Exception], what: str) -> Iterator[None]:
    """Convert a panic of Rust code to an error of this `kind`. `what` names the code in the message."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # each extension has its own class and does not export it
            raise
        raise kind(f"{what} panicked: {error}") from None


@contextmanager
def of_tokenizers(is_live: bool) -> Iterator[None]:
    """Convert panics of ``tokenizers`` to ValueError, and errors of a vocabulary to VocabularyError.

    `is_live` tells that components may be written in Python. Their errors are plain `Exception` objects, too.
    """
    try:
        with as_error(ValueError, "the tokenizers library"):
            yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        # Truncation settings that do not fit a text are the caller's error, too.
        is_callers = is_live or str(error).startswith("Truncation error: ")
        raise (ValueError if is_callers else VocabularyError)(str(error)) from error

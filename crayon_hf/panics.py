"""Panics of the reference libraries. They are no ``Exception``, and nobody catches them: here they become errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_error(kind: type[Exception], what: str) -> Iterator[None]:
    """A panic within becomes an error of this `kind`, which says `what` panicked."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # each extension has a class of its own, which none exports
            raise
        raise kind(f"{what} panicked: {error}") from None

"""Hints for names that are not files but name another source: the error says which call opens it."""

from __future__ import annotations

import errno
import os

from crayon_hf.errors import CrayonError
from crayon_hf.formats.names import NameKind, meaning_of


def meant(name: str) -> str | None:
    """Return a message with the source that the name of no file may mean, and the call that opens it.

    Return None if the name has no meaning.
    """
    try:
        found = meaning_of(name)
    except (CrayonError, ValueError):
        return None
    if found.kind is NameKind.REPOSITORY:
        return f"a repository of the Hub is opened with from_pretrained({found.name!r})"
    if found.kind is NameKind.PROFILE:
        return f"it is the name of a profile, which Tokenizer.from_profile({found.name!r}) opens"
    if found.kind is NameKind.ENCODING:
        return f"it is the name of an encoding of tiktoken, which Tokenizer.from_tiktoken({found.name!r}) opens"
    return None


def no_file(name: str) -> FileNotFoundError:
    """The error for a missing file, with the hint of `meant`."""
    hint = meant(name)
    said = os.strerror(errno.ENOENT) + ("" if hint is None else f" ({hint})")
    return FileNotFoundError(errno.ENOENT, said, name)

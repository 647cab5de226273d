"""A name that is not a file, but looks like the name of something else: the error says which call opens that."""

from __future__ import annotations

import errno
import os
import re

from crayon_hf.cartridges.search_path import find_profile
from crayon_hf.errors import ProfileNotFoundError

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?")
_FILES = (".json", ".dat", ".model", ".gguf", ".tiktoken", ".txt", ".py")


def is_repository(name: str) -> bool:
    """Whether a name that is no path here may be that of a repository of the Hub: ``user/name``, ``user/name@branch``.

    >>> is_repository("openai-community/gpt2"), is_repository("./gpt2"), is_repository("gpt2/tokenizer.json")
    (True, False, False)
    """
    return _REPOSITORY.fullmatch(name) is not None and not name.endswith(_FILES) and not os.path.exists(name)


def meant(name: str) -> str | None:
    """What a name that is no file may be, and the call that opens it; None: nothing that is known here."""
    from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS

    if is_repository(name):
        return f"a repository of the Hub is opened with from_pretrained({name!r})"
    try:
        find_profile(name)
        return f"it is the name of a profile, which Tokenizer.from_profile({name!r}) opens"
    except (ProfileNotFoundError, ValueError, TypeError):
        pass
    if name in KNOWN_ENCODINGS:
        return f"it is the name of an encoding of tiktoken, which Tokenizer.from_tiktoken({name!r}) opens"
    return None


def no_file(name: str) -> FileNotFoundError:
    """The error for a file that is not there."""
    hint = meant(name)
    said = os.strerror(errno.ENOENT) + ("" if hint is None else f" ({hint})")
    return FileNotFoundError(errno.ENOENT, said, name)

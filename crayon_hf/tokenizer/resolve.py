"""Opens a tokenizer by a path, a profile's name or an encoding's name."""

from __future__ import annotations

import os

from crayon_hf.formats.names import NameKind, path_of, resolve
from crayon_hf.tokenizer.tokenizer import Tokenizer


def open_tokenizer(name: str | os.PathLike[str], mode: str = "exact") -> Tokenizer:
    """Open a file or directory by its path, or a profile or published tiktoken encoding by its name."""
    meaning = resolve(name)
    if meaning.kind is NameKind.ENCODING:
        return Tokenizer.from_tiktoken(meaning.name, mode=mode)
    if meaning.kind is NameKind.PROFILE:
        return Tokenizer.from_profile(meaning.name, mode)
    return Tokenizer.from_file(path_of(meaning), mode)

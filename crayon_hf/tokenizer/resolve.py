"""A tokenizer by a name that a user gives: a profile, an encoding, or a path."""

from __future__ import annotations

import os

from crayon_hf.errors import ProfileNotFoundError
from crayon_hf.tokenizer.tokenizer import Tokenizer

_SUFFIXES = (".json", ".dat", ".tiktoken")


def open_tokenizer(name: str, mode: str = "exact") -> Tokenizer:
    """A profile by its name, a file or a directory by its path, or a published tiktoken encoding by its name."""
    if is_path(name):
        return Tokenizer.from_file(name, mode)
    try:
        return Tokenizer.from_profile(name, mode)
    except ProfileNotFoundError:
        if os.path.exists(name):
            return Tokenizer.from_file(name, mode)
        from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS

        if name in KNOWN_ENCODINGS:
            return Tokenizer.from_tiktoken(name, mode=mode)
        raise


def is_path(name: str) -> bool:
    """True for what is surely meant as the name of a file or a directory."""
    return name.endswith(_SUFFIXES) or "/" in name or os.sep in name

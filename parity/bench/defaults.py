"""Vocabularies that every machine has."""

from __future__ import annotations

import os
from pathlib import Path

from crayon_hf import Tokenizer
from crayon_hf.errors import ProfileNotFoundError
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.tokenizer.resolve import is_path


def comparable(name: str, directory: str) -> str:
    """A file that the references open, too. Profiles and other sources become a ``tokenizer.json`` in `directory`."""
    if os.path.isfile(name) and recognise(name) in (Kind.TOKENIZER_JSON, Kind.TIKTOKEN, Kind.SENTENCEPIECE):
        return name
    try:
        tokenizer = Tokenizer.from_file(name) if is_path(name) else Tokenizer.from_profile(name)
    except ProfileNotFoundError:
        return name
    path = os.path.join(directory, f"{Path(name).stem}.json")
    tokenizer.save(path)
    return path

"""Vocabularies that every machine has."""

from __future__ import annotations

import os
from pathlib import Path

from crayon_hf.formats.names import NameKind, resolve
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.tokenizer.resolve import open_tokenizer


def comparable(name: str, directory: str) -> str:
    """A file that the references open, too. Profiles and other sources become a ``tokenizer.json`` in `directory`."""
    meaning = resolve(name)
    if meaning.path is None:
        return name
    given = meaning.path if meaning.kind is NameKind.PATH else name
    if os.path.isfile(given) and recognise(given) in (Kind.TOKENIZER_JSON, Kind.TIKTOKEN, Kind.SENTENCEPIECE):
        return given
    path = os.path.join(directory, f"{Path(meaning.name).stem}.json")
    open_tokenizer(given).save(path)
    return path

"""Better errors when transformers cannot open a tokenizer, because a file is damaged or a name has no repository.

The errors of transformers name only the step that failed: "Expecting value", "KeyError: 'added_tokens'".
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from crayon_hf.errors import VocabularyError
from crayon_hf.formats.name_hints import meant
from crayon_hf.util.damage import damage_in

_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "source.spm",
    "target.spm",
    "tekken.json",
    "chat_template.jinja",
)


@contextlib.contextmanager
def damage_named(name: Any, directory: str | None, kwargs: dict[str, Any]) -> Iterator[None]:
    """Context manager in which transformers opens a tokenizer from these arguments.

    If that fails, it raises VocabularyError for a damaged file. Otherwise it raises transformers' error, with a hint if
    the name is that of a profile or an encoding.
    """
    try:
        yield
    except Exception as error:
        for path in _files_of(name, directory, kwargs):
            if (damage := damage_in(path)) is not None:
                raise VocabularyError(f"{path} {damage}") from error
        hint = _hint(name) if type(error) is OSError else None
        if hint is None:
            raise
        raise OSError(f"{error}\n{hint}") from error


def _files_of(name: Any, directory: str | None, kwargs: dict[str, Any]) -> Iterator[str]:
    if isinstance(name, (str, os.PathLike)) and os.path.isfile(name):
        yield os.fspath(name)
    if directory is not None:
        names = (*_FILES, kwargs.get("gguf_file"))
        yield from (os.path.join(directory, file) for file in names if isinstance(file, str))
    for key, value in kwargs.items():
        if key.endswith("_file") and isinstance(value, (str, os.PathLike)):
            yield os.fspath(value)


def _hint(name: Any) -> str | None:
    if not isinstance(name, str) or "/" in name or os.path.exists(name):
        return None
    hint = meant(name)
    return None if hint is None else f"In crayon_hf {hint}."

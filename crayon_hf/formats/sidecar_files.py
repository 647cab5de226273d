"""The small files beside a Hugging Face vocabulary."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from crayon_hf.errors import VocabularyError
from crayon_hf.util.damage import damage_of, json_fault
from crayon_hf.util.files import read_source

FILES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json")
"""The files whose contents `Beside` holds, in its order."""

TEMPLATE = "chat_template.jinja"


class Beside(NamedTuple):
    """The contents of the files beside a vocabulary; empty for a missing file."""

    config: Mapping[str, Any] = {}
    """tokenizer_config.json"""
    special_tokens_map: Mapping[str, Any] = {}
    added_tokens: Mapping[str, Any] = {}
    model_config: Mapping[str, Any] = {}
    """config.json"""


NOTHING = Beside()


def files_beside(path: str | os.PathLike[str]) -> Beside:
    """Read the files in the directory of `path`."""
    folder = os.path.dirname(os.path.abspath(path))
    beside = Beside(*(read_object(os.path.join(folder, name)) for name in FILES))
    template = _read(os.path.join(folder, TEMPLATE))
    if template is None:
        return beside
    try:
        # With normalized line ends, since transformers opens the file as text.
        text = io.TextIOWrapper(io.BytesIO(template), encoding="utf-8").read()
    except UnicodeDecodeError:
        return beside
    return beside._replace(config={**beside.config, "chat_template": text})


def read_object(path: str) -> dict[str, Any]:
    """Read a file that is a JSON object. Return an empty object if the file does not exist."""
    data = _read(path)
    if data is None:
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        if (damage := damage_of(data)) is not None:
            raise VocabularyError(f"{path} {damage}") from error
        raise VocabularyError(f"{path} {json_fault(error)}") from error
    if not isinstance(value, dict):
        raise VocabularyError(f"{path} is not a JSON object")
    return value


def _read(path: str) -> bytes | None:
    """Return a file's contents, or None if it does not exist. Raises VocabularyError if it is not a regular file."""
    if not os.path.exists(path):
        return None
    if not os.path.isfile(path):
        raise VocabularyError(f"{path} is not a file")
    return read_source(path)

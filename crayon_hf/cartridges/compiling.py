"""Compiles sources into cartridges: a ``tokenizer.json`` itself, and others by a `Recipe`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json.document import dump, parsed
from crayon_hf.util.damage import damage_of

_VOCAB = b'"vocab"'
_EMPTY = re.compile(_VOCAB + rb"\s*:\s*(?:\{\s*\}|\[\s*\])")

EMPTY = "an empty vocabulary"
"""The reason why a tokenizer that has yet to be trained cannot be compiled."""

REFERENCE_METADATA = '{"reference":"tokenizers"}'
"""The metadata of a cartridge with the ids of the ``tokenizers`` library."""


class Compiled(NamedTuple):
    """A compiled source. `source` is a tokenizer.json, made if the compiled file is of another kind."""

    cartridge: bytes
    source: bytes | None = None


class Recipe(NamedTuple):
    """A way to compile a source into a cartridge. `name` tells recipes apart in the cache."""

    name: str
    compile: Callable[[bytes], Compiled]


def reference_of(metadata: str) -> str:
    """The reference library that a cartridge's metadata names."""
    import json  # saves some milliseconds when a cached cartridge is opened

    reference: str = json.loads(metadata).get("reference", "tokenizers")
    return reference


def compile_json(data: bytes, metadata: str = REFERENCE_METADATA) -> bytes:
    """Compile a ``tokenizer.json`` into a cartridge. Raises UnsupportedError if it has no tokens yet."""
    if _has_empty_vocabulary(data) and _has_no_tokens(data):
        raise UnsupportedError(EMPTY)
    flavor = "rust_regex" if reference_of(metadata) == "tiktoken" else "oniguruma"
    try:
        return _core.compile_tokenizer_json(data, metadata, flavor)
    except UnsupportedError:
        raise
    except VocabularyError as error:
        damage = damage_of(data)
        if damage is None:
            raise
        raise VocabularyError(f"the tokenizer.json {damage}") from error


def compiled_engine(data: bytes, metadata: str = REFERENCE_METADATA) -> _core.Engine:
    """The engine of a ``tokenizer.json``, compiled in memory. Raises the errors of `compile_json`."""
    return _core.Engine.from_bytes(compile_json(data, metadata), verify=False)


def json_to_train(data: bytes) -> dict[str, Any]:
    """Return the parsed ``tokenizer.json`` of a BPE without tokens, if our own trainer can train it.

    Raises:
        UnsupportedError: Only the library ``tokenizers`` can train it.
        VocabularyError: Our compiler refuses it.
    """
    document = parsed(data)
    model = document["model"]
    if model.get("type") != "BPE":
        raise UnsupportedError(EMPTY)
    trained = model | {"vocab": {"a": 0}, "merges": []}
    affixes = dict.fromkeys(("continuing_subword_prefix", "end_of_word_suffix"))  # the trainer sets them
    compile_json(dump(document | {"model": trained | affixes, "post_processor": None}).encode())
    return document


def _has_empty_vocabulary(data: bytes) -> bool:
    at = data.find(_VOCAB)  # many times faster than a regular expression
    while at >= 0:
        if _EMPTY.match(data, at):
            return True
        at = data.find(_VOCAB, at + 1)
    return False


def _has_no_tokens(data: bytes) -> bool:
    import json

    try:
        document = json.loads(data)
        return not document["model"]["vocab"] and not document.get("added_tokens")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False  # the compiler reports the error


def json_recipe(metadata: str = REFERENCE_METADATA) -> Recipe:
    """The recipe that compiles a ``tokenizer.json``."""
    return Recipe(f"tokenizer.json/{metadata}", lambda data: Compiled(compile_json(data, metadata)))

"""Tests that take what some versions of the libraries have not: each says what that is."""

from __future__ import annotations

import os
from importlib.metadata import version
from importlib.util import find_spec

import pytest
import tokenizers

REFERENCE = tuple(map(int, tokenizers.__version__.split(".")[:2]))
"""The version of tokenizers that the tests compare with."""

SHOWS_NORMALIZED = REFERENCE >= (0, 23)
"""Of an added token that is looked for in normalized text, the reference shows what the normalizer makes of it; before
0.23 it shows what was added. Ours does as 0.23."""

COUNTS_ALL_PIECES = REFERENCE >= (0, 23)
"""A Unigram piece that is listed twice counts twice in `get_vocab_size(True)`; before 0.23, once. Ours does as 0.23."""

HAS_TRANSFORMERS_5 = not find_spec("transformers") or int(version("transformers").partition(".")[0]) >= 5
"""False with transformers 4. Where there are none, what is right comes from elsewhere."""

HAS_HUB_1 = version("huggingface_hub").partition(".")[0] != "0"
"""False with transformers 4, which wants huggingface_hub before 1."""

IS_BESIDE_1 = bool(os.environ.get("CRAYON_REFERENCE"))
"""True where the package finds tokenizers 1.0, and the tests compare with 0.23: see `put_beside`."""


def since(version: tuple[int, int], what: str) -> pytest.MarkDecorator:
    """Skip with an older reference: `what` says what it does instead."""
    older = f"tokenizers before {version[0]}.{version[1]} {what}"
    return pytest.mark.skipif(version > REFERENCE, reason=older)


def before_1(what: str) -> pytest.MarkDecorator:
    """Skip where the package finds tokenizers 1.0, which has no `what`."""
    return pytest.mark.skipif(IS_BESIDE_1, reason=f"tokenizers 1.0 has no {what}")


def since_transformers_5(what: str) -> pytest.MarkDecorator:
    """Skip with an older transformers: `what` says what it does instead."""
    return pytest.mark.skipif(not HAS_TRANSFORMERS_5, reason=f"transformers before 5 {what}")


def shown_token(reference: tokenizers.Tokenizer, id: int) -> str | None:
    """Its `id_to_token`, as since 0.23."""
    token = reference.get_added_tokens_decoder().get(id)
    if SHOWS_NORMALIZED or token is None or not token.normalized or reference.normalizer is None:
        return reference.id_to_token(id)
    return reference.normalizer.normalize_str(token.content)


def shown_otherwise(reference: tokenizers.Tokenizer) -> set[int]:
    """The ids that this reference shows, and decodes, otherwise than 0.23 does."""
    ids = reference.get_added_tokens_decoder()
    return {id for id in ids if shown_token(reference, id) != reference.id_to_token(id)}


def since_hub_1(what: str) -> pytest.MarkDecorator:
    """Skip with an older client of the Hub: `what` says what it does instead."""
    return pytest.mark.skipif(not HAS_HUB_1, reason=f"huggingface_hub before 1 {what}")

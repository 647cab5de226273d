"""Marks that skip tests which need features of certain versions of tokenizers, transformers and huggingface_hub."""

from __future__ import annotations

import os
from importlib.metadata import version
from importlib.util import find_spec

import pytest
import tokenizers

REFERENCE = tuple(map(int, tokenizers.__version__.split(".")[:2]))
"""The version of tokenizers that the tests compare with."""

SHOWS_NORMALIZED = REFERENCE >= (0, 23)
"""Whether tokenizers shows the normalized content of an added token that matches in normalized text. Before 0.23 it
shows the original content. crayon_hf follows 0.23."""

COUNTS_ALL_PIECES = REFERENCE >= (0, 23)
"""Whether a repeated Unigram piece counts twice in tokenizers' `get_vocab_size(True)`. Before 0.23 it counts once.
crayon_hf follows 0.23."""

HAS_TRANSFORMERS_5 = not find_spec("transformers") or int(version("transformers").partition(".")[0]) >= 5
"""Whether transformers is version 5 or missing. If it is missing, tests take their expected results from elsewhere."""

HAS_HUB_1 = version("huggingface_hub").partition(".")[0] != "0"
"""Whether huggingface_hub is version 1; transformers 4 needs an older one."""

IS_BESIDE_1 = bool(os.environ.get("CRAYON_REFERENCE"))
"""Whether crayon_hf imports tokenizers 1.0 while the tests compare with 0.23: see `put_beside`."""


def since(version: tuple[int, int], what: str) -> pytest.MarkDecorator:
    """Skip a test if tokenizers is older than `version`. `what` describes the older behaviour."""
    older = f"tokenizers before {version[0]}.{version[1]} {what}"
    return pytest.mark.skipif(version > REFERENCE, reason=older)


def before_1(what: str) -> pytest.MarkDecorator:
    """Skip a test if crayon_hf imports tokenizers 1.0, which lacks `what`."""
    return pytest.mark.skipif(IS_BESIDE_1, reason=f"tokenizers 1.0 has no {what}")


def since_transformers_5(what: str) -> pytest.MarkDecorator:
    """Skip a test if transformers is older than 5. `what` describes the older behaviour."""
    return pytest.mark.skipif(not HAS_TRANSFORMERS_5, reason=f"transformers before 5 {what}")


def shown_token(reference: tokenizers.Tokenizer, id: int) -> str | None:
    """Return what tokenizers 0.23 returns for `id_to_token(id)`, whatever the version of `reference`."""
    token = reference.get_added_tokens_decoder().get(id)
    if SHOWS_NORMALIZED or token is None or not token.normalized or reference.normalizer is None:
        return reference.id_to_token(id)
    return reference.normalizer.normalize_str(token.content)


def shown_otherwise(reference: tokenizers.Tokenizer) -> set[int]:
    """The ids that this version of tokenizers shows and decodes differently from 0.23."""
    ids = reference.get_added_tokens_decoder()
    return {id for id in ids if shown_token(reference, id) != reference.id_to_token(id)}


def since_hub_1(what: str) -> pytest.MarkDecorator:
    """Skip a test if huggingface_hub is older than 1. `what` describes the older behaviour."""
    return pytest.mark.skipif(not HAS_HUB_1, reason=f"huggingface_hub before 1 {what}")

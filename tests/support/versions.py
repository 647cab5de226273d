"""Tests that take what some versions of the libraries have not: each says what that is."""

from __future__ import annotations

import os
from importlib.metadata import version

import pytest
import tokenizers

REFERENCE = tuple(map(int, tokenizers.__version__.split(".")[:2]))
"""The version of tokenizers that the tests compare with."""

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


def since_hub_1(what: str) -> pytest.MarkDecorator:
    """Skip with an older client of the Hub: `what` says what it does instead."""
    return pytest.mark.skipif(not HAS_HUB_1, reason=f"huggingface_hub before 1 {what}")

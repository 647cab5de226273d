"""The result of every reader: the neutral form of a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Progress = Callable[[str, int, int], None]
"""Called now and then during a long conversion with the name of the step, the amount done and the total."""


class Converted(NamedTuple):
    """A vocabulary as a ``tokenizer.json``, with the other facts that its source states."""

    tokenizer_json: bytes
    config: dict[str, Any]
    """The ``tokenizer_config.json`` beside it; empty when the source has no such settings."""
    reference: str
    """The library whose ids are right: ``tokenizers``, ``tiktoken``, ``sentencepiece``, ``xerv-crayon`` and others."""
    name: str | None = None
    metadata: Mapping[str, Any] = MappingProxyType({})
    """The cartridge's metadata besides the reference and the name."""
    opened: Mapping[str, Any] = MappingProxyType({})
    """More metadata for a cartridge from which crayon_hf opens the source directly. A ``tokenizer.json`` lacks it."""
    inexact: str = ""
    """The reason why no ``tokenizer.json`` gives the source's ids, or "". If set, `tokenizer_json` only holds the
    vocabulary for a cartridge."""


def written(document: Mapping[str, Any]) -> bytes:
    """Return a ``tokenizer.json`` as bytes, without white space."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

"""The result of every reader: the neutral form of a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Progress = Callable[[str, int, int], None]
"""Called now and then during a long conversion with what is being done, how much is done, and how much there is."""


class Converted(NamedTuple):
    """A vocabulary as a ``tokenizer.json``, and what its source says besides."""

    tokenizer_json: bytes
    config: dict[str, Any]
    """The ``tokenizer_config.json`` that goes beside it; empty when the source says nothing of the kind."""
    reference: str
    """The library whose output is right, such as ``tokenizers``, ``tiktoken``, ``sentencepiece`` or ``xerv-crayon``."""
    name: str | None = None
    metadata: Mapping[str, Any] = MappingProxyType({})
    """What the cartridge's metadata says besides the reference and the name."""
    opened: Mapping[str, Any] = MappingProxyType({})
    """What the metadata says besides where the source itself is opened, rather than the ``tokenizer.json``."""
    inexact: str = ""
    """Why no ``tokenizer.json`` gives the ids of the source: this one only holds the vocabulary for a cartridge."""


def written(document: Mapping[str, Any]) -> bytes:
    """A ``tokenizer.json`` as bytes, without white space."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

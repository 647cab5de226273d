"""Tokenizers and texts for tests of the exporters, which write a tokenizer in another format."""

from __future__ import annotations

from typing import Any

from crayon_hf.formats.converted import Converted, written
from crayon_hf.parity.inputs.strings import generate
from tests.support.random_tokenizers import ESCAPED, PREPENDED

PREFIXED = {"type": "Sequence", "normalizers": [PREPENDED, ESCAPED]}


def converted_of(document: dict[str, Any], **config: Any) -> Converted:
    return Converted(written(document), config, "tokenizers")


def hostile(count: int, seed: int) -> list[str]:
    return [text.encode("utf-8", "replace").decode() for _, text in generate(count, seed=seed)]

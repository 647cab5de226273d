"""Tokenizers and texts for tests of the exporters, which write a tokenizer in another format."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from crayon_hf import UnsupportedError
from crayon_hf.formats.converted import Converted, written
from crayon_hf.parity.inputs.strings import generate
from tests.support.random_tokenizers import ESCAPED, PREPENDED, RandomDocument

PREFIXED = {"type": "Sequence", "normalizers": [PREPENDED, ESCAPED]}


def converted_of(document: dict[str, Any], **config: Any) -> Converted:
    return Converted(written(document), config, "tokenizers")


def hostile(count: int, seed: int) -> list[str]:
    return [text.encode("utf-8", "replace").decode() for _, text in generate(count, seed=seed)]


def count_exported(sources: Iterable[tuple[Converted, list[str]]], check: Callable[[Converted, list[str]], Any]) -> int:
    """Check each source that the format can express with its texts, and return the number of such sources."""
    count = 0
    for source, texts in sources:
        with contextlib.suppress(UnsupportedError):
            check(source, texts)
            count += 1
    return count


def random_sources(seeds: Iterable[int], count: int) -> Iterator[tuple[Converted, list[str]]]:
    """Random tokenizers, each with `count` texts."""
    for seed in seeds:
        made = RandomDocument(seed)
        yield converted_of(made.document), made.texts(count)

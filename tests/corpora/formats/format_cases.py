"""Sets of tokenized documents, and helpers for tests of the output formats of corpora."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crayon_hf.corpora.formats import FORMATS, Format, ShardSettings, Vocabulary, WrittenFile

Documents = list[list[int]]

SMALL = Vocabulary(50257, 50256, "gpt2")
LARGE = Vocabulary(128256, 128255, "some/llama3")
VOCABULARIES = {"small": SMALL, "large": LARGE}


def _random(seed: int, largest: int) -> Documents:
    chance = random.Random(seed)
    longest = chance.choice((3, 30, 300))
    return [
        [chance.choice((0, largest, chance.randint(0, largest))) for _ in range(chance.randint(0, longest))]
        for _ in range(chance.randint(1, 2500 // longest + 20))
    ]


def document_set(name: str, largest: int) -> Documents:
    """The set of this name (of NAMES), with ids up to `largest`."""
    if name.startswith("random"):
        return _random(int(name[6:]), largest)
    return {  # type: ignore[return-value]
        "none": [],
        "one empty": [[]],
        "empties": [[], [], [7], [], [largest, 0], []],
        "one token": [[largest]],
        "lengths": [[(n * 31 + i) % (largest + 1) for i in range(n)] for n in (1, 255, 256, 257, 0, 65535, 65536, 3)],
        "one long": [[(i * 7919) % (largest + 1) for i in range(150_000)]],
        "many": [[i % (largest + 1)] * (i % 3) for i in range(5003)],
    }[name]


NAMES = ["none", "one empty", "empties", "one token", "lengths", "one long", "many", *(f"random{i}" for i in range(6))]


def arrays(documents: Documents, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """All ids of the documents as one array, and the places in it where documents begin and end."""
    ids = np.array([token for document in documents for token in document], dtype)
    return ids, np.cumsum([0, *map(len, documents)], dtype=np.int64)


def write(
    format: str | Format,
    prefix: Path,
    documents: Documents,
    vocabulary: Vocabulary = SMALL,
    cuts: Sequence[int] | None = None,
) -> list[WrittenFile]:
    """Write a finished shard, with one call for the documents between two `cuts`."""
    format = FORMATS[format] if isinstance(format, str) else format
    ids, row_splits = arrays(documents, format.dtype(vocabulary))
    with format.open(str(prefix), ShardSettings(vocabulary)) as writer:
        edges = [0, *(cuts if cuts is not None else [len(documents) // 3]), len(documents)]
        for start, end in itertools.pairwise(edges):
            writer.write(ids, row_splits[start : end + 1])
        written = writer.finish()
        assert (writer.documents, writer.tokens) == (len(documents), len(ids))
    return written

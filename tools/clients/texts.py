"""Texts for clients, from the corpus in CRAYON_SHARED."""

from __future__ import annotations

import lzma
import os
from functools import lru_cache
from pathlib import Path

MOST = 4_000_000


def documents(kind: str, count: int, size: int) -> list[str]:
    """Return `count` documents of at most `size` characters, cut at line ends if lines are short enough."""
    data = _data(kind)
    found: list[str] = []
    begin = 0
    while len(found) < count and begin < len(data):
        end = data.rfind("\n", begin, begin + size) + 1
        end = end if end > begin else begin + size
        found.append(data[begin:end])
        begin = end
    if len(found) < count:
        raise ValueError(f"{kind}: {len(data)} characters are not enough for {count} texts of {size}")
    return found


@lru_cache(maxsize=3)
def _data(kind: str) -> str:
    with lzma.open(Path(os.environ["CRAYON_SHARED"], "corpus", f"{kind}.txt.xz")) as stream:
        return stream.read(MOST).decode(errors="ignore")

"""A random source whose results never depend on the Python version.

``random.Random`` promises stability across versions for ``random()`` alone; ``choice``, ``randrange`` and the rest
have changed before. All methods here use ``random()`` alone.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Source:
    """Random choices that are the same in every process and every Python version."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, n: int) -> int:
        """Return a random integer in ``range(n)``."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """Return a random integer from ``low`` to ``high``, both included."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """Return True with this probability, and otherwise False."""
        return self._random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items at random."""
        return items[int(self._random() * len(items))]

    def text(self, alphabet: Sequence[str], low: int, high: int) -> str:
        """Return ``low`` to ``high`` random elements of the alphabet, joined."""
        return "".join([self.pick(alphabet) for _ in range(self.between(low, high))])


def source_for(seed: int, topic: str, index: int) -> Source:
    """Return the random source for one string. It depends only on the arguments, so any string can be made alone."""
    return Source((seed << 64) | (zlib.crc32(topic.encode()) << 32) | index)

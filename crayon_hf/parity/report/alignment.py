"""Align two texts, to show where they are equal and where they differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

__all__ = ["Run", "align"]

# Numbers, words and escapes stay whole, so that 12 and 13 differ as numbers and not in their last digit.
_PIECE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)|[^\W_]+| |.", re.DOTALL)
_MOST = 600
"""If both texts together have more pieces, only their common beginning and end are aligned."""


@dataclass(frozen=True)
class Run:
    """Corresponding parts of two aligned texts. If the parts differ, one of them may be empty."""

    ours: str
    reference: str

    @property
    def equal(self) -> bool:
        """Whether both parts are equal."""
        return self.ours == self.reference

    @property
    def width(self) -> int:
        """The length of the longer part, in characters."""
        return max(len(self.ours), len(self.reference))


def align(ours: str, reference: str) -> list[Run]:
    """Cut both texts into runs. Joined in order, the runs' sides give both texts; equal and differing runs alternate.

    Every piece that differs is in a run that is not `Run.equal`.
    """
    left, right = _PIECE.findall(ours), _PIECE.findall(reference)
    if len(left) + len(right) > _MOST:
        return _ends(left, right)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    runs = [Run("".join(left[a:b]), "".join(right[c:d])) for _, a, b, c, d in _calm(matcher.get_opcodes(), left)]
    return [run for run in runs if run.width]


def _calm(codes: Sequence[tuple[str, int, int, int, int]], left: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Merge equal runs of mere punctuation into the differences around them: fewer runs are easier to read."""
    calm: list[tuple[str, int, int, int, int]] = []
    for place, (tag, a, b, c, d) in enumerate(codes):
        island = tag == "equal" and 0 < place < len(codes) - 1 and not any(part.isalnum() for part in left[a:b])
        if (tag != "equal" or island) and calm and calm[-1][0] != "equal":
            _, first, _, third, _ = calm[-1]
            calm[-1] = ("replace", first, b, third, d)
        else:
            calm.append((tag, a, b, c, d))
    return calm


def _ends(left: list[str], right: list[str]) -> list[Run]:
    shorter = min(len(left), len(right))
    start = next((place for place in range(shorter) if left[place] != right[place]), shorter)
    end = next((place for place in range(shorter - start) if left[-1 - place] != right[-1 - place]), shorter - start)
    cuts = ((0, start, 0, start), (start, len(left) - end, start, len(right) - end))
    runs = [Run("".join(left[a:b]), "".join(right[c:d])) for a, b, c, d in cuts]
    tail = "".join(left[len(left) - end :])
    return [run for run in [*runs, Run(tail, tail)] if run.width]

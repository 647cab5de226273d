"""Which pieces of documents share a sequence: best-fit decreasing, as in Ding et al. 2024, "Fewer Truncations Improve
Language Modeling" (arXiv:2404.10830).

Pieces are placed by decreasing length, equal ones in their order. Each goes where the least room is left that it fits
into, of several such sequences into the one that has had that room longest; where it fits into none, a new one begins.
So the result is that of placing pieces one by one. They are placed by whole lengths instead: where a piece has
found its best fit, the next ones of its length fit best into the same sequence, until it has no room for another.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt


def best_fit(lengths: npt.NDArray[np.int64], room: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(pieces, splits): sequence i has the pieces ``pieces[splits[i] : splits[i + 1]]``, by their numbers, in order.

    `lengths` are those of the pieces, from 1 to `room`, which is how many tokens a sequence has.
    """
    by_length = np.argsort(-lengths, kind="stable")
    descending = lengths[by_length]
    sequence_of = np.empty(len(lengths), np.int64)
    sequences_with: dict[int, list[int]] = {}
    """By the room that is left, the one that has had it longest first."""
    rooms = 0
    """Bit n is set where there are sequences with room for n: the lowest bit from a length on is the best fit."""
    count = 0
    runs: Any = np.flatnonzero(np.diff(descending, prepend=0)).tolist()
    for first, end in pairwise([*runs, len(lengths)]):
        length, place = int(descending[first]), first
        while place < end:
            fitting = rooms >> length
            space = length + (fitting & -fitting).bit_length() - 1 if fitting else room
            each = min(space // length, end - place)
            filled = (end - place) // each
            if fitting:
                waiting = sequences_with[space]
                chosen = waiting[:filled]
                del waiting[:filled]
                if not waiting:
                    rooms ^= 1 << space
            else:
                chosen = list(range(count, count + filled))
                count += filled
            filled = len(chosen)
            sequence_of[place : place + filled * each] = np.repeat(chosen, each) if each > 1 else chosen
            place += filled * each
            left = space - each * length
            if left:
                if not rooms >> left & 1:
                    rooms |= 1 << left
                    sequences_with[left] = []
                sequences_with[left] += chosen
    splits = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(sequence_of, minlength=count), out=splits[1:])
    return by_length[np.argsort(sequence_of, kind="stable")], splits

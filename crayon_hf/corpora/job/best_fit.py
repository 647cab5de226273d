"""Best-fit decreasing packing of pieces into sequences, as in Ding et al. 2024, "Fewer Truncations Improve Language
Modeling" (arXiv:2404.10830).

Pieces are placed by decreasing length, equal ones in order. A piece goes into the fullest sequence with enough room; of
several equal ones, into the one that has had this room longest. If none fits, it begins a new sequence.

Runs of pieces with one length are placed at once, with the same result. The best fit of a piece stays the best fit of
the next ones until its room is too small.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt


def best_fit(lengths: npt.NDArray[np.int64], room: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Pack pieces into sequences.

    Args:
        lengths: Tokens of each piece, from 1 to `room`.
        room: Tokens of a sequence.

    Returns:
        (pieces, splits): sequence i has the pieces ``pieces[splits[i] : splits[i + 1]]``, as indices into `lengths`.
    """
    by_length = np.argsort(-lengths, kind="stable")
    descending = lengths[by_length]
    sequence_of = np.empty(len(lengths), np.int64)
    sequences_with: dict[int, list[int]] = {}
    """Sequences by the room left. The sequence that has had this room longest is the first."""
    rooms = 0
    """Bit n is set if some sequence has room for exactly n more tokens. A piece's best fit is the lowest bit set from
    its length on."""
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

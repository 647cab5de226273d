"""Merges for a SentencePiece BPE model, which has none: it joins any two neighbours that make a piece.

SentencePiece joins the neighbours whose piece scores best, the leftmost of equals; ``tokenizer.json`` ranks pairs. So
every way to cut a piece into two pieces is a merge, and merges are ordered by the score of the piece that they make.

Pairs of equal score could differ: SentencePiece takes the leftmost pair, ``tokenizers`` the lowest rank. This matters
only where two such pairs overlap, ``x y`` and ``y z``: then ``x y`` must rank first, and the order below ensures it.
No order can do so in a cycle, such as ``a aa`` and ``aa a`` of the piece ``aaa``. There the pair with the longer left
part ranks first, since runs are joined from the left, which leaves the remainder at the right end of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain, groupby
from math import copysign, inf

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError
from crayon_hf.formats.converted import Progress

Pair = tuple[str, str]
_STEP = 4096


def merges_of(scores: Mapping[str, float], unused: Collection[str], progress: Progress | None = None) -> list[Pair]:
    """Return the merges of pieces with these scores, the first one first.

    Raises UnsupportedError if a piece contains a character that is not a piece, or if no order of pieces with equal
    scores is right. Merges that make a piece of `unused` raise it, too: SentencePiece takes such a piece apart again
    after all merges.
    """
    by_score = None if unused else _core.merges_by_score(dict(scores))
    if by_score is None:
        return _merges_one_by_one(scores, unused, progress)
    merges, entangled, equal = by_score
    for begin, end in entangled:
        merges[begin:end] = _leftmost_first(merges[begin:end])
    for begin, end in equal:
        order = _order(merges[begin:end])
        if any(len(set(left + right)) > 1 for left, right in order):
            return _merges_one_by_one(scores, unused, progress)  # a piece of another score may forbid the order
        merges[begin:end] = _leftmost_first(order)
    if progress is not None:
        progress("merges", 0, len(scores))
        progress("merges", len(scores), len(scores))
    return merges


def _merges_one_by_one(
    scores: Mapping[str, float], unused: Collection[str], progress: Progress | None = None
) -> list[Pair]:
    characters = {piece for piece in scores if len(piece) == 1}
    found: list[tuple[float, float, list[Pair]]] = []
    inverted = ""
    for number, (piece, score) in enumerate(scores.items()):
        if progress is not None and number % _STEP == 0:
            progress("merges", number, len(scores))
        pairs = [
            (left, right)
            for cut in range(1, len(piece))
            if ((left := piece[:cut]) in scores or cut == 1)
            and ((right := piece[cut:]) in scores or cut == len(piece) - 1)
        ]
        if not pairs:
            continue
        if not characters.issuperset(piece):
            strange = next(char for char in piece if char not in characters)
            if any(strange in pair for pair in pairs):
                raise UnsupportedError(f"piece {piece!r}, made of {strange!r}, which is not a piece")
        if not _are_better(pairs, score, scores) and len(set(piece)) > 1:
            inverted = piece
        if piece in unused:
            raise UnsupportedError(f"unused piece {piece!r}, which is joined and taken apart again")
        # 0.0 and -0.0 count as different scores.
        found.append((-score, -copysign(1, score), pairs))
    found.sort(key=lambda entry: entry[:2])
    merges: list[Pair] = []
    for _, group in groupby(found, key=lambda entry: entry[:2]):
        first, *others = (pairs for *_, pairs in group)
        # The left parts of the pairs of one piece grow, and `_order` puts longer ones first: reverse them.
        order = first[::-1] if not others else _order(chain(first, *others))
        pieces = {left + right for left, right in order} if inverted and others else ()
        if any(len(set(piece)) > 1 for piece in pieces):
            # Pieces of a better score appear between merges of one score, earlier in one place than in another.
            raise UnsupportedError(f"pieces of one score, and {inverted!r}, which scores no worse than its parts")
        merges += _leftmost_first(order) if len(order) > 1 else order
    if progress is not None:
        progress("merges", len(scores), len(scores))
    return merges


def _are_better(pairs: Iterable[Pair], score: float, scores: Mapping[str, float]) -> bool:
    """Whether the parts score better than the piece that the pairs make. Characters and non-pieces always pass."""
    for left, right in pairs:
        if (len(left) > 1 and scores.get(left, inf) <= score) or (len(right) > 1 and scores.get(right, inf) <= score):
            return False
    return True


def _order(pairs: Iterable[Pair]) -> list[Pair]:
    """Sort pairs of one score: longer left parts first, and ``y y`` before ``y z``, like every pair that ends in y."""
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0] != pair[1], pair))


def _leftmost_first(order: list[Pair]) -> list[Pair]:
    """Order pairs of one score so that ``x y`` precedes ``y z``, except in cycles; else keep the given order."""
    if {left for left, _ in order}.isdisjoint(right for _, right in order):
        return order
    waits = Counter(right for left, right in order if left != right)
    numbers: dict[str, list[int]] = {}
    for number, (left, _) in enumerate(order):
        numbers.setdefault(left, []).append(number)
    ready = [number for number, (left, _) in enumerate(order) if not waits[left]]
    placed: dict[int, Pair] = {}
    others = iter(range(len(order)))
    circular = False
    while len(placed) < len(order):
        circular = circular or not ready
        number = heappop(ready) if ready else next(number for number in others if number not in placed)
        if number in placed:
            continue
        left, right = placed[number] = order[number]
        if left != right:
            waits[right] -= 1
            if not waits[right]:
                for later in numbers.get(right, ()):
                    heappush(ready, later)
    if circular:
        _check_circles(list(placed.values()))
    return list(placed.values())


def _check_circles(pairs: Sequence[Pair]) -> None:
    """Raise UnsupportedError if some pair ``y z`` precedes a pair ``x y`` that makes another piece."""
    later: dict[str, list[Pair]] = {}
    for pair in reversed(pairs):
        for other in later.get(pair[0], ()):
            made, overlapping = "".join(pair), "".join(other)
            # Runs of one character grow from the left in this order, as they do in SentencePiece.
            if made != overlapping and len(set(made + overlapping)) > 1:
                raise UnsupportedError(f"pieces {overlapping!r} and {made!r}, which overlap and have one score")
        later.setdefault(pair[1], []).append(pair)

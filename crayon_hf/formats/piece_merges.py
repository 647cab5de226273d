"""The merges of a SentencePiece BPE model, which has none: it joins whatever two neighbours make a piece.

SentencePiece takes the best-scored piece that two neighbours make, the leftmost first; ``tokenizer.json`` ranks pairs.
So every way to cut a piece into two pieces is a merge, and merges stand in the order of the score of what they make.

Pairs of one score are where the two could differ: SentencePiece takes the leftmost, whichever it is. It matters only
where two such pairs overlap, ``x y`` and ``y z``: then ``x y`` has to come first. The order below has it so. It is
impossible only in a circle, such as ``a aa`` and ``aa a`` of the piece ``aaa``: of those the one with the longer left
part comes first, since runs are joined from the left, and what is left over stands at their right end.
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
    """The merges of pieces with these scores, the first one first.

    UnsupportedError when a piece is joined from a character that is no piece, or is one of `unused`, which
    SentencePiece takes apart again after all merges; and where the order of pieces of one score cannot be said.
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
            return _merges_one_by_one(scores, unused, progress)  # another piece may forbid it
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
        # Zeros of both signs are two scores.
        found.append((-score, -copysign(1, score), pairs))
    found.sort(key=lambda entry: entry[:2])
    merges: list[Pair] = []
    for _, group in groupby(found, key=lambda entry: entry[:2]):
        first, *others = (pairs for *_, pairs in group)
        # Of one piece, with a longer left part each: the order that `_order` gives is the other way round.
        order = first[::-1] if not others else _order(chain(first, *others))
        pieces = {left + right for left, right in order} if inverted and others else ()
        if any(len(set(piece)) > 1 for piece in pieces):
            # Better pieces come up between merges of one score, at one place sooner than at another.
            raise UnsupportedError(f"pieces of one score, and {inverted!r}, which has no worse one than its parts")
        merges += _leftmost_first(order) if len(order) > 1 else order
    if progress is not None:
        progress("merges", len(scores), len(scores))
    return merges


def _are_better(pairs: Iterable[Pair], score: float, scores: Mapping[str, float]) -> bool:
    """True when every part of several characters scores more than what the pairs make, or is no piece."""
    for left, right in pairs:
        if (len(left) > 1 and scores.get(left, inf) <= score) or (len(right) > 1 and scores.get(right, inf) <= score):
            return False
    return True


def _order(pairs: Iterable[Pair]) -> list[Pair]:
    """Where there is a choice, a longer left part first; y y before y z, like everything that ends in y."""
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0] != pair[1], pair))


def _leftmost_first(order: list[Pair]) -> list[Pair]:
    """Pairs of one score, in the order of a choice: ``x y`` before ``y z`` wherever that does not go in a circle."""
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
    """UnsupportedError when some ``y z`` comes before an ``x y`` that makes another piece."""
    later: dict[str, list[Pair]] = {}
    for pair in reversed(pairs):
        for other in later.get(pair[0], ()):
            made, overlapping = "".join(pair), "".join(other)
            # Runs of one character grow from the left in this order, as they do in SentencePiece.
            if made != overlapping and len(set(made + overlapping)) > 1:
                raise UnsupportedError(f"pieces {overlapping!r} and {made!r}, which overlap and have one score")
        later.setdefault(pair[1], []).append(pair)

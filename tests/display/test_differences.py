"""Where several ways to cut a text differ, beside a plain twin."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from crayon_hf.display.tokens import Cut, Difference, differences, marks, marks_by_ends, places_of


def plain_differences(cuts: Sequence[Cut]) -> list[Difference]:
    """Border by border."""
    size = max((end for cut in cuts for _, end in cut.spans), default=0)
    borders = [plain_borders(cut, size) for cut in cuts]
    out = []
    start, before = 0, [0] * len(cuts)
    for end in sorted(set(borders[0]).intersection(*borders[1:])):
        after = [each[end] for each in borders]
        parts = [cut.what[first:last] for cut, first, last in zip(cuts, before, after, strict=True)]
        if any(part != parts[0] for part in parts):
            out.append(Difference(start, end, tuple(zip(before, after, strict=True))))
        start, before = end, after
    return out


def plain_borders(cut: Cut, size: int) -> dict[int, int]:
    out = {}
    reached = 0
    for i, ((start, end), is_inserted) in enumerate(zip(cut.spans, cut.inserted, strict=True)):
        if not is_inserted:
            if start >= reached:
                out[reached] = out[start] = i
            reached = max(reached, end)
    return out | {reached: len(cut.spans), size: len(cut.spans)}


def random_cut(rng: random.Random, size: int) -> Cut:
    """Tokens with gaps between them, of no width, that overlap, and that a post-processor put in."""
    spans, inserted = [], []
    at = 0
    while at < size:
        kind = rng.random()
        if kind < 0.1:
            at += 1
        elif kind < 0.2:
            spans.append((0, 0))
            inserted.append(1)
        else:
            end = min(size, at + rng.choice([0, 1, 1, 2, 3]))
            spans.append((max(0, at - (rng.random() < 0.1)), end))
            inserted.append(0)
            at = end
    return Cut([rng.randrange(3) for _ in spans], spans, inserted)


@pytest.mark.parametrize("seed", range(4))
def test_beside_the_plain_twin(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    for _ in range(500):
        size = rng.randrange(14)
        cuts = [random_cut(rng, size) for _ in range(rng.randrange(1, 5))]
        wanted = plain_differences(cuts)
        assert differences(cuts) == wanted
        for side, marked in enumerate(marks(cuts)):
            assert {place for place, is_marked in enumerate(marked) if is_marked} == places_of(wanted, side)
        found += len(wanted)
    assert found > 300


@pytest.mark.parametrize("seed", range(4))
def test_by_ends(seed: int) -> None:
    """As the plain twin marks the ends of tokens, without those that were put in."""
    rng = random.Random(seed)
    found = 0
    for _ in range(500):
        cuts = [random_cut(rng, 14) for _ in range(rng.randrange(1, 5))]
        kept = [[place for place, inserted in enumerate(cut.inserted) if not inserted] for cut in cuts]
        spans = [[cut.spans[place] for place in places] for cut, places in zip(cuts, kept, strict=True)]
        wanted = plain_differences([Cut([end for _, end in each], each, [0] * len(each)) for each in spans])
        for side, marked in enumerate(marks_by_ends(cuts)):
            assert len(marked) == len(cuts[side].spans)
            places = {kept[side][place] for place in places_of(wanted, side)}
            assert {place for place, is_marked in enumerate(marked) if is_marked} == places
        found += len(wanted)
    assert found > 300

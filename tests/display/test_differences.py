"""The display marks where several segmentations (cuts into tokens) of a text differ. A plain twin computes the
marks."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from crayon_hf.display.tokens import Difference, Segmentation, differences, marks, marks_by_ends, places_of


def plain_differences(segmentations: Sequence[Segmentation]) -> list[Difference]:
    """The plain twin: compare the segmentations border by border."""
    size = max((end for segmentation in segmentations for _, end in segmentation.ranges), default=0)
    borders = [plain_borders(segmentation, size) for segmentation in segmentations]
    out = []
    start, before = 0, [0] * len(segmentations)
    for end in sorted(set(borders[0]).intersection(*borders[1:])):
        after = [each[end] for each in borders]
        ranges = zip(segmentations, before, after, strict=True)
        parts = [segmentation.ids[first:last] for segmentation, first, last in ranges]
        if any(part != parts[0] for part in parts):
            out.append(Difference(start, end, tuple(zip(before, after, strict=True))))
        start, before = end, after
    return out


def plain_borders(segmentation: Segmentation, size: int) -> dict[int, int]:
    out = {}
    reached = 0
    for i, ((start, end), is_inserted) in enumerate(zip(segmentation.ranges, segmentation.inserted, strict=True)):
        if not is_inserted:
            if start >= reached:
                out[reached] = out[start] = i
            reached = max(reached, end)
    return out | {reached: len(segmentation.ranges), size: len(segmentation.ranges)}


def random_segmentation(rng: random.Random, size: int) -> Segmentation:
    """Random tokens: some overlap, some have gaps between them, some are empty, some are inserted."""
    ranges, inserted = [], []
    at = 0
    while at < size:
        kind = rng.random()
        if kind < 0.1:
            at += 1
        elif kind < 0.2:
            ranges.append((0, 0))
            inserted.append(1)
        else:
            end = min(size, at + rng.choice([0, 1, 1, 2, 3]))
            ranges.append((max(0, at - (rng.random() < 0.1)), end))
            inserted.append(0)
            at = end
    return Segmentation([rng.randrange(3) for _ in ranges], ranges, inserted)


@pytest.mark.parametrize("seed", range(4))
def test_beside_the_plain_twin(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    for _ in range(500):
        size = rng.randrange(14)
        segmentations = [random_segmentation(rng, size) for _ in range(rng.randrange(1, 5))]
        wanted = plain_differences(segmentations)
        assert differences(segmentations) == wanted
        for side, marked in enumerate(marks(segmentations)):
            assert {place for place, is_marked in enumerate(marked) if is_marked} == places_of(wanted, side)
        found += len(wanted)
    assert found > 300


@pytest.mark.parametrize("seed", range(4))
def test_by_ends(seed: int) -> None:
    """If tokens are given by their ends alone, without ids or inserted tokens, the marks equal those of the plain
    twin."""
    rng = random.Random(seed)
    found = 0
    for _ in range(500):
        segmentations = [random_segmentation(rng, 14) for _ in range(rng.randrange(1, 5))]
        kept = [[place for place, inserted in enumerate(each.inserted) if not inserted] for each in segmentations]
        ranges = [[each.ranges[place] for place in places] for each, places in zip(segmentations, kept, strict=True)]
        wanted = plain_differences([Segmentation([end for _, end in each], each, [0] * len(each)) for each in ranges])
        for side, marked in enumerate(marks_by_ends(segmentations)):
            assert len(marked) == len(segmentations[side].ranges)
            places = {kept[side][place] for place in places_of(wanted, side)}
            assert {place for place, is_marked in enumerate(marked) if is_marked} == places
        found += len(wanted)
    assert found > 300

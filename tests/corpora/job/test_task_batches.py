"""Batches that are encoded together: all of them, in order, and what was read before an error."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from crayon_hf.corpora.job import task_batches
from crayon_hf.corpora.job.state import Checkpoint
from crayon_hf.corpora.job.task_batches import Batch, bundles


def batch(size: int) -> Batch:
    return Batch(bytes(size), np.zeros(1, np.int64), np.zeros(1, np.int64), [], Checkpoint(), Checkpoint(), size)


def sizes(bundled: Iterator[list[Batch]]) -> list[list[int]]:
    return [[len(each.data) for each in together] for together in bundled]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([1], [[1]]),
        ([30, 30, 30, 30, 5], [[30, 30, 30, 30], [5]]),
        ([1, 500, 1, 1], [[1, 500], [1, 1]]),
        ([0] * 9, [[0] * 4, [0] * 4, [0]]),
    ],
)
def test_bundles(monkeypatch: pytest.MonkeyPatch, given: list[int], expected: list[list[int]]) -> None:
    monkeypatch.setattr(task_batches, "_BUNDLE", 4)
    assert sizes(bundles(map(batch, given), 100)) == expected


def test_what_was_read_before_an_error() -> None:
    def read() -> Iterator[Batch]:
        yield batch(1)
        yield batch(2)
        raise OSError("broken")

    bundled = bundles(read(), 100)
    assert [len(each.data) for each in next(bundled)] == [1, 2]
    with pytest.raises(OSError, match="broken"):
        next(bundled)

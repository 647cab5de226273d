"""How a job groups its input files into tasks."""

from __future__ import annotations

import numpy as np

from crayon_hf.corpora import InputFile
from crayon_hf.corpora.job.job_spec import plan


def groups(sizes: list[int], most: int, shuffle: bool = False, seed: int = 0) -> list[list[int]]:
    files = [InputFile(str(i), size) for i, size in enumerate(sizes)]
    tasks = plan({"inputs": files, "group_bytes": most, "shuffle": shuffle, "seed": seed}, "OUT")
    assert [task.name for task in tasks] == [f"{i:05d}" for i in range(len(tasks))]
    assert [task.output for task in tasks] == [f"OUT/{i:05d}" for i in range(len(tasks))]
    return [[int(file.address) for file in task.files] for task in tasks]


def test_files_in_order_and_whole() -> None:
    assert groups([3, 3, 3, 3], 6) == [[0, 1], [2, 3]]
    assert groups([3, 3, 3, 3], 7) == [[0, 1], [2, 3]]
    assert groups([9, 1, 1, 9, 1], 3) == [[0], [1, 2], [3], [4]]
    assert groups([2, 0, 0, 1], 2) == [[0, 1, 2], [3]]
    assert groups([1, -1, 1, 1], 9) == [[0], [1], [2, 3]]  # an unknown size
    assert groups([5], 1) == [[0]]


def test_shuffled() -> None:
    order = np.random.default_rng(4).permutation(6).tolist()
    assert groups([1] * 6, 1, True, 4) == [[i] for i in order]
    assert groups([1] * 6, 6, True, 4) == [order]

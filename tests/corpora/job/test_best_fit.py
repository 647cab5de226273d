"""Packing by best-fit decreasing equals a plain implementation, and TRL's."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from crayon_hf.corpora.job.best_fit import best_fit
from crayon_hf.corpora.job.packing import _pieces


def by_hand(lengths: list[int], room: int) -> list[list[int]]:
    """Pack pieces of these lengths into sequences of `room` tokens; each piece tries every sequence. Returns each
    sequence as a list of its pieces' numbers."""
    sequences: list[list[int]] = []
    left: list[int] = []
    since: list[int] = []
    for time, piece in enumerate(sorted(range(len(lengths)), key=lambda i: -lengths[i])):
        length = lengths[piece]
        fitting = [i for i in range(len(sequences)) if left[i] >= length]
        if fitting:
            best = min(fitting, key=lambda i: (left[i], since[i]))
        else:
            best = len(sequences)
            sequences.append([])
            left.append(room)
            since.append(0)
        sequences[best].append(piece)
        left[best] -= length
        since[best] = time
    return sequences


def packed(lengths: list[int], room: int) -> list[list[int]]:
    pieces, splits = best_fit(np.array(lengths, np.int64), room)
    return [pieces[begin:end].tolist() for begin, end in pairwise(splits.tolist())]


def random_lengths(seed: int) -> tuple[list[int], int]:
    chance = random.Random(seed)
    room = chance.choice((1, 2, 7, 64, 100, 1000))
    most = chance.choice((1, max(1, room // 10), room))
    return [chance.randint(1, most) for _ in range(chance.choice((0, 1, 5, 60, 300)))], room


@pytest.mark.parametrize("seed", range(60))
def test_as_by_hand(seed: int) -> None:
    lengths, room = random_lengths(seed)
    sequences = packed(lengths, room)
    assert sequences == by_hand(lengths, room)
    assert sorted(piece for sequence in sequences for piece in sequence) == list(range(len(lengths)))
    assert all(sum(lengths[piece] for piece in sequence) <= room for sequence in sequences)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_as_trl_packs(seed: int) -> None:
    """``pack_dataset(..., strategy="bfd_split")``, also for empty documents and some longer than a sequence."""
    data_utils = pytest.importorskip("trl.data_utils")
    datasets = pytest.importorskip("datasets")
    chance = random.Random(seed)
    room = chance.choice((4, 33, 128))
    lengths = [chance.choice((0, chance.randint(1, room), chance.randint(1, 3 * room))) for _ in range(150)]
    ends = np.cumsum([0, *lengths]).tolist()
    rows = [list(range(begin, end)) for begin, end in pairwise(ends)]
    theirs = data_utils.pack_dataset(
        datasets.Dataset.from_dict({"input_ids": rows}), room, "bfd_split", map_kwargs={"batch_size": 1000}
    )
    starts, sizes = _pieces(np.array(lengths, np.int64), room)
    ours = [[(int(starts[i]), int(sizes[i])) for i in sequence] for sequence in packed(sizes.tolist(), room)]
    ids = [[token for start, size in sequence for token in range(start, start + size)] for sequence in ours]
    assert ids == theirs["input_ids"][:]
    assert [[size for _, size in sequence] for sequence in ours] == theirs["seq_lengths"][:]

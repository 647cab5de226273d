"""Files of 5 GB: ids, and offsets beyond 2^32."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crayon_hf import Tokenizer
from tests.huge.repeated import TAIL, Repeated, write

SIZE = 5_000_000_000
BEYOND = (1 << 32) + (1 << 22)


def test_ids_of_a_file(byte_level: Repeated, scratch: Path) -> None:
    tokenizer = Tokenizer.from_file(byte_level.vocabulary)
    times = write(scratch / "text.txt", byte_level.block, SIZE)
    chunks = tokenizer.encode_file(scratch / "text.txt", add_special_tokens=False)
    byte_level.compare((chunk.ids for chunk in chunks), times)


def test_offsets_of_a_file(byte_level: Repeated, scratch: Path) -> None:
    tokenizer = Tokenizer.from_file(byte_level.vocabulary)
    times = write(scratch / "text.txt", byte_level.block, BEYOND)
    at = 0
    for chunk in tokenizer.encode_file(scratch / "text.txt", offsets=True, add_special_tokens=False):
        assert chunk.offsets is not None
        numbers = np.arange(at, at + len(chunk.ids))
        at += len(chunk.ids)
        numbers = numbers[numbers < times * len(byte_level.ids)]
        blocks, places = np.divmod(numbers, len(byte_level.ids))
        want = byte_level.offsets[places] + len(byte_level.block) * blocks[:, None]
        assert np.array_equal(chunk.offsets[: len(numbers)], want)
    assert int(chunk.offsets[-1, 1]) == chunk.end == times * len(byte_level.block) + len(TAIL)
    assert chunk.end > 1 << 32

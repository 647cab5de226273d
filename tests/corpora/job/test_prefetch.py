"""Reading, encoding and writing in parallel threads: results stay in order, errors are raised, and the threads end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from crayon_hf.corpora.job.prefetch import overlap
from tests.corpora.job.job_cases import crayon_threads

pytestmark = pytest.mark.concurrency


def test_in_order_and_a_little_ahead() -> None:
    given, written = 0, []

    def read() -> Iterator[int]:
        nonlocal given
        for number in range(50):
            given += 1
            assert given - len(written) <= 6
            yield number

    overlap(read, lambda number: number * 2, written.append)
    assert written == [2 * number for number in range(50)]


@pytest.mark.parametrize("where", ["read", "encode", "write"])
def test_an_error(where: str) -> None:
    written: list[int] = []
    closed = threading.Event()

    def fail(place: str, number: int) -> None:
        if place == where and number == 5:
            raise RuntimeError(place)

    def read() -> Iterator[int]:
        try:
            for number in range(1000):
                fail("read", number)
                yield number
        finally:
            closed.set()

    def encode(number: int) -> int:
        fail("encode", number)
        return number

    def write(number: int) -> None:
        fail("write", number)
        written.append(number)

    with pytest.raises(RuntimeError, match=where):
        overlap(read, encode, write)
    assert closed.is_set()
    assert crayon_threads() == []
    assert written == list(range(len(written)))
    assert len(written) <= 5
    assert where == "encode" or written == [0, 1, 2, 3, 4]  # everything read before the error has been written

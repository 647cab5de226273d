"""Reading, encoding and writing at once: everything in order, errors raised, threads ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from crayon_hf.corpora.job.prefetch import overlap
from crayon_hf.corpora.storage import waiting

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
    before, written = threading.active_count(), []
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
    assert threading.active_count() == before
    assert written == list(range(len(written)))
    assert len(written) <= 5
    assert where == "encode" or written == [0, 1, 2, 3, 4]  # what was read before an error is written


def test_a_reader_that_waits_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt while a read takes for ever: the call ends all the same."""
    monkeypatch.setattr("crayon_hf.corpora.job.prefetch._PATIENCE", 0.1)
    release = threading.Event()

    def read() -> Iterator[int]:
        yield 1
        release.wait(60)

    def encode(number: int) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        overlap(read, encode, lambda number: None)
    release.set()


def test_it_is_told_when_all_is_read() -> None:
    """While the last batches are not written yet."""
    has_read, written = threading.Event(), []

    def write(number: int) -> None:
        if number == 9:
            assert has_read.wait(60)
        written.append(number)

    overlap(lambda: iter(range(10)), lambda number: number, write, has_read.set)
    assert written == list(range(10))


def test_it_is_not_told_after_an_error() -> None:
    has_read = threading.Event()

    def read() -> Iterator[int]:
        yield 1
        raise RuntimeError

    with pytest.raises(RuntimeError):
        overlap(read, lambda number: number, lambda number: None, has_read.set)
    assert not has_read.is_set()


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    """What ends this thread's work."""
    event = threading.Event()
    waiting.give_up_at(event)
    yield event
    waiting.give_up_at(None)


def test_it_is_given_up(stop: threading.Event) -> None:
    written: list[int] = []

    def write(number: int) -> None:
        written.append(number)
        if number == 3:
            stop.set()

    with pytest.raises(waiting.Stopped):
        overlap(lambda: iter(range(1000)), lambda number: number, write)
    assert written == list(range(len(written)))
    assert 3 < len(written) < 10


def test_it_is_given_up_while_a_read_takes_for_ever(stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crayon_hf.corpora.job.prefetch._PATIENCE", 0.1)
    release = threading.Event()

    def read() -> Iterator[int]:
        yield 1
        release.wait()

    threading.Timer(0.1, stop.set).start()
    with pytest.raises(waiting.Stopped):
        overlap(read, lambda number: number, lambda number: None)
    release.set()


@pytest.mark.parametrize("where", ["encode", "write", "a helper"])
def test_a_wait_is_given_up(stop: threading.Event, where: str) -> None:
    """Whichever thread of the work it is in."""

    def waits(place: str, number: int) -> int:
        if place == where:
            threading.Timer(0.1, stop.set).start()
            waiting.pause(1e6)
        elif where == "a helper" and place == "write":
            with waiting.helpers(1) as helpers:
                helpers.submit(waits, "a helper", number).result()
        return number

    with pytest.raises(waiting.Stopped):
        overlap(lambda: iter([1]), lambda number: waits("encode", number), lambda number: waits("write", number))

"""BufferPool: a buffer is never lent to two at once."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from crayon_hf.util.buffers import BufferPool


def address(view: memoryview) -> int:
    return int(np.frombuffer(view, np.uint8).ctypes.data)


def test_a_buffer_is_used_again() -> None:
    pool = BufferPool(64, 2)
    with pool.lease() as view:
        assert len(view) == 64
        assert not view.readonly
        first = address(view)
        view[:5] = b"hello"
    with pool.lease() as view:
        assert address(view) == first


def test_a_view_ends_with_its_lease() -> None:
    pool = BufferPool(64, 2)
    with pool.lease() as view:
        pass
    for use in (lambda: view[0], lambda: len(view), lambda: bytes(view), lambda: view.__setitem__(0, 1)):
        with pytest.raises(ValueError, match="released"):
            use()


def test_two_leases_are_two_buffers() -> None:
    pool = BufferPool(64, 1)
    with pool.lease() as one, pool.lease() as two, pool.lease() as three:
        assert len({address(one), address(two), address(three)}) == 3
    kept = len(pool._free)
    assert kept == 1


@pytest.mark.parametrize("show", [lambda view: view[3:9], lambda view: np.frombuffer(view, np.uint8), memoryview])
def test_what_is_still_shown_is_not_lent_again(show) -> None:
    pool = BufferPool(64, 2)
    with pool.lease() as view:
        shown = show(view)
        shown[0] = 7
    with pool.lease() as view:
        assert address(view) not in range(np.asarray(shown).ctypes.data - 64, np.asarray(shown).ctypes.data + 64)
        view[:] = bytes(64)
    assert shown[0] == 7
    before = len(pool._free)
    del shown
    assert before == 1


def test_an_error_inside_gives_the_buffer_back() -> None:
    pool = BufferPool(64, 2)
    with pytest.raises(KeyError), pool.lease():
        raise KeyError
    assert len(pool._free) == 1


def test_larger_ones_are_not_kept() -> None:
    pool = BufferPool(64, 2)
    with pool.lease(65) as view:
        assert len(view) == 65
    with pool.lease(64) as view:
        assert len(view) == 64
    assert [len(buffer) for buffer in pool._free] == [64]


@pytest.mark.parametrize(("size", "count"), [(0, 1), (-1, 1), (1, -1)])
def test_sizes_that_cannot_be(size: int, count: int) -> None:
    with pytest.raises(ValueError, match="a pool of"):
        BufferPool(size, count)


@pytest.mark.concurrency
def test_threads_never_share_one() -> None:
    pool = BufferPool(256, 3)
    start = threading.Barrier(8)

    def work(number: int) -> int:
        start.wait()
        clashes = 0
        for _ in range(400):
            with pool.lease() as view:
                view[:] = bytes([number]) * len(view)
                clashes += bytes(view) != bytes([number]) * len(view)
        return clashes

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(work, range(8))) == 0
    finally:
        sys.setswitchinterval(interval)
    assert len(pool._free) <= 3

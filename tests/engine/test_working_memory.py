"""The working memory that threads encode with: the next call uses it again, its size is bounded, and it is released."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

import crayon_hf
from crayon_hf import _core
from tests.encode.test_threads import in_threads
from tests.support import reference_impl
from tests.support.stand_in_cases import trained

pytestmark = pytest.mark.concurrency


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    _core.trim()
    yield
    _core._testing.set_working_memory()


@pytest.fixture
def engine() -> _core.Engine:
    return reference_impl.open_engine(trained("byte_level"))


def texts(seed: int = 1, size: int = 800_000) -> list[str]:
    text = reference_impl.generated_text(random.Random(seed), size)
    return [text[at : at + 1000] for at in range(0, size, 1000)]


def new_words(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join("".join(rng.choices("abcdefghij", k=9)) for _ in range(1000)) for _ in range(count)]


def test_trim_gives_all_back(engine: _core.Engine) -> None:
    batch = texts()
    want = engine.encode_lists(batch, threads=2)
    kept = _core.working_memory()
    assert kept["scratches"] >= 1
    assert 0 < kept["bytes"] < kept["limit"]
    crayon_hf.trim()
    kept = _core.working_memory()
    assert (kept["bytes"], kept["scratches"]) == (0, 0)
    assert engine.encode_lists(batch, threads=2) == want


def test_the_memory_of_a_large_result_is_used_again(engine: _core.Engine) -> None:
    """The memory of a large result is used again after the result is gone, and never while it exists."""
    _core._testing.set_working_memory(idle_milliseconds=1 << 40)
    engine.encode_ids("some words")
    batch = [" some words" * 400_000]
    first, _ = engine.encode_ragged(batch)
    second, _ = engine.encode_ragged(batch)
    place, want = first.ctypes.data, first.copy()
    assert first.nbytes >= 1 << 21
    assert second.ctypes.data != place
    view = first[5:]
    del first
    third, _ = engine.encode_ragged(batch)
    assert third.ctypes.data != place
    del view
    assert _core.working_memory()["bytes"] >= want.nbytes
    fourth, _ = engine.encode_ragged(batch)
    assert fourth.ctypes.data == place
    assert all((ids == want).all() for ids in (second, third, fourth))
    del second, third, fourth
    crayon_hf.trim()
    assert _core.working_memory()["bytes"] == 0


def test_what_nobody_uses_goes_with_the_next_call(engine: _core.Engine) -> None:
    other = reference_impl.open_engine(trained("byte_level"))
    other.encode_lists(texts(), threads=2)
    _core._testing.set_working_memory(idle_milliseconds=-1)
    engine.encode_ids("some words")
    assert _core.working_memory()["scratches"] == 0
    _core._testing.set_working_memory()
    other.encode_lists(texts(), threads=1)
    engine.encode_ids("some words")
    assert _core.working_memory()["scratches"] == 2


def test_all_engines_together_keep_to_the_limit() -> None:
    limit = 12 << 20
    _core._testing.set_working_memory(limit)
    engines = [reference_impl.open_engine(trained("byte_level")) for _ in range(6)]
    for seed, each in enumerate(engines):
        each.encode_lists(new_words(seed, 60), threads=1)
        kept = _core.working_memory()
        assert kept["limit"] == limit
        assert kept["bytes"] <= limit
    assert _core.working_memory()["scratches"] >= 1


def test_many_threads_share_the_slots(engine: _core.Engine) -> None:
    """More threads encode at once than the pool of working memory has slots."""
    batch = texts(size=5000)
    flat, splits = engine.encode_ragged(batch, threads=1)
    want = [flat[a:b].tolist() for a, b in pairwise(splits)]

    def work(_: int) -> None:
        assert engine.encode_lists(batch * 20, threads=2) == want * 20

    in_threads(100, work)
    assert _core.working_memory()["scratches"] <= 64


def made() -> int:
    return _core.working_memory()["scratches_made"]


@pytest.mark.slow
def test_each_thread_of_a_batch_finds_what_it_had(engine: _core.Engine) -> None:
    batch, before = texts(), made()
    want = engine.encode_lists(batch, threads=1)
    for _ in range(50):
        assert engine.encode_lists(batch, threads=2) == want
    assert made() - before <= 2


@pytest.mark.slow
def test_threads_share_the_words_that_they_merged(engine: _core.Engine) -> None:
    """Later passes over half a million words take no more processor time with two threads than with one."""
    _core._testing.set_working_memory(limit=1 << 30)
    batch = new_words(1, 500)
    random.Random(2).shuffle(batch)
    fastest = []
    for threads in (1, 2):
        crayon_hf.trim()
        engine.encode_lists(batch, threads=threads)
        times = []
        for _ in range(3):
            before = time.process_time()
            engine.encode_ragged(batch, threads=threads)
            times.append(time.process_time() - before)
        fastest.append(min(times))
    assert fastest[1] < 2 * fastest[0], fastest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_fork_has_its_parents(engine: _core.Engine) -> None:
    texts = ["some words of a text, again and again"] * 40_000
    want, before = engine.encode_lists(texts, threads=1), made()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            same = engine.encode_lists(texts, threads=1) == want
            os.write(write, json.dumps([same, made() - before]).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(os.read(read, 100)) == [True, 0]

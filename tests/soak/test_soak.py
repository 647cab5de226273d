"""A soak of seconds: every operation once by itself, and a round of them in threads. ``make soak`` takes an hour."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak import flatness
from tests.soak.material import ROOT
from tests.soak.run import ANYWHERE, MAIN_THREAD, Soak, do, one_round
from tests.soak.table import Count, Difference, Table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, and reads /proc")


@pytest.mark.slow
def test_a_short_soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CRAYON_CACHE_DIR", "CRAYON_PROFILE_DIR"):
        monkeypatch.setenv(name, "")  # so that it is put back
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    soak = Soak(tmp_path, seed=0, minutes=0, with_transformers=False)
    try:
        before = flatness.sample(0)
        soak.warm_up()
        for number, operation in enumerate(MAIN_THREAD):
            do(operation, soak.world, random.Random(number), soak.table)
        one_round(soak.world, "0 0", soak.table, together=6)
    finally:
        soak.world.stop()
    after = flatness.sample(1)
    assert not soak.table.faults, "\n".join(soak.table.faults)
    assert set(soak.table.rows) == {operation.__name__ for operation in [*ANYWHERE, *MAIN_THREAD]}
    assert all(row["comparisons"] + row["expected_errors"] for row in soak.table.rows.values())
    for name in ("descriptors", "threads", "children"):
        left = getattr(after, name) - getattr(before, name)
        assert left <= flatness.COUNT_SLACK[name], f"{left} more {name} than before"


# -- what it counts by


def test_a_difference_is_told() -> None:
    table, count = Table(), Count()
    with pytest.raises(Difference, match=r"ids: item 1 is 3, expected 2"):
        count.same([1, 3], [1, 2], "ids")
    with pytest.raises(Difference, match="1 items, expected 2"):
        count.same("a", "ab", "text")
    with (
        pytest.raises(Difference, match="nothing was raised, expected ValueError or OSError"),
        count.refused(ValueError, OSError),
    ):
        pass
    with count.refused(ValueError):
        raise ValueError
    assert (count.comparisons, count.expected_errors) == (2, 1)
    table.add("good", count, None)
    assert table.is_clean
    for error in (Difference("x"), ValueError("y")):
        spoiled = Table()
        spoiled.add("bad", Count(), error)
        assert not spoiled.is_clean
        assert len(spoiled.faults) == 1
    table.add("bad", Count(), Difference("x"))
    table.add("bad", Count(), KeyError("y"))
    assert table.totals() == {
        "times": 3,
        "comparisons": 2,
        "expected_errors": 1,
        "unexpected_errors": 1,
        "differences": 1,
    }
    assert "| bad | 2 | 0 | 0 | 1 | 1 |" in table.as_text()


def _samples(sizes: list[int], descriptors: int = 10) -> list[flatness.Sample]:
    return [flatness.Sample(i, size, size, descriptors, 1, 0, 400) for i, size in enumerate(sizes)]


def test_what_is_flat() -> None:
    mega = 1 << 20
    assert flatness.what_grows([]) == []
    assert flatness.what_grows(_samples([i * mega for i in range(25)] + [25 * mega] * 75)) == []  # warms up
    assert flatness.what_grows(_samples([(100 + i % 7) * mega for i in range(100)])) == []
    grown = flatness.what_grows(_samples([100 * mega + i * mega // 2 for i in range(100)]))
    assert [line.split()[0] for line in grown] == ["anonymous", "in_use"]
    more = _samples([0] * 75) + _samples([0] * 25, descriptors=20)
    assert flatness.what_grows(more) == ["descriptors grew by 10, allowed are 4"]


def test_a_sample_sees_what_is_held() -> None:
    before = flatness.sample(0)
    held = bytearray(os.urandom(1 << 20)) * 64
    with open(os.devnull) as one, open(os.devnull) as other:
        after = flatness.sample(1)
        assert after.descriptors == before.descriptors + 2
        assert (one.closed, other.closed) == (False, False)
    assert after.anonymous - before.anonymous > len(held) // 2
    if after.in_use:
        assert after.in_use - before.in_use > len(held) // 2


WORK_IN_THREADS = """
import threading
from tests.soak import flatness

before = flatness.sample(0)
del (large := [bytearray(30 << 20)])[0]  # glibc learns to keep twice as much
together = threading.Barrier(8)
small = [object() for _ in range(100_000)]
assert flatness.sample(1).in_use - before.in_use > 1 << 20, "Python's own are seen"
del small

def work():
    blocks = [bytearray(b"x") * 100_000 for _ in range(100)]
    together.wait()  # each has an arena of its own

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
after = flatness.sample(1)
print(after.anonymous - before.anonymous, after.in_use - before.in_use)
"""


@pytest.mark.measures_memory
@pytest.mark.skipif(not flatness.of_libc("mallinfo2"), reason="of glibc's malloc")
def test_what_threads_freed_is_not_held() -> None:
    environment = {**os.environ, **flatness.ENVIRONMENT, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    command = [sys.executable, "-c", WORK_IN_THREADS]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    anonymous, in_use = map(int, ended.stdout.split())
    assert anonymous < 8 << 20, "of 80 million bytes"
    assert in_use < 1 << 20

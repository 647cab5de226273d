"""A short soak: every operation once, and then a round of operations in threads. ``make soak`` takes an hour."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.soak.operations import MAIN_THREAD
from tests.soak.run import SLACK, Soak, sample

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, and reads /proc")


@pytest.mark.slow
def test_a_short_soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CRAYON_CACHE_DIR", "CRAYON_PROFILE_DIR"):
        monkeypatch.setenv(name, "")  # restores it after the test
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    before = sample()
    soak = Soak(tmp_path, seed=0)
    try:
        soak.warm_up()
        for number, operation in enumerate(MAIN_THREAD):
            soak.do(operation, random.Random(number))
        soak.one_round(0, together=6)
    finally:
        soak.world.stop()
    after = sample()
    assert not soak.faults, "\n".join(soak.faults)
    assert all(row["comparisons"] + row["expected errors"] for row in soak.rows.values())
    for name in ("descriptors", "threads", "children"):
        assert after[name] - before[name] <= SLACK[name], name

"""The line that says how far a job is."""

from __future__ import annotations

import io
import time

import pytest

from crayon_hf.corpora.job import progress
from crayon_hf.corpora.job.progress import Bar, JobProgress
from crayon_hf.corpora.job.state import Counts


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def moment(done: int, before: int = 0, seconds: float = 2.0) -> JobProgress:
    return JobProgress(
        Counts(done, done * 10, done * 1_000_000, done * 2_000_000),
        Counts(before, before * 10, before * 1_000_000, before * 2_000_000),
        20_000_000,
        seconds,
    )


def test_speed_and_time_left_are_of_this_run() -> None:
    now = moment(6, before=2)
    assert now.megabytes_per_second == 2.0
    assert now.eta == 2.0
    assert now.line(10) == "[######    ]  60.0 %, 2.0 MB/s, 6 documents, 60 tokens, 0:02 left"
    assert moment(0).line(0).strip() == "0.0 %, 0.0 MB/s, 0 documents, 0 tokens"
    assert moment(10).eta == 0.0
    assert moment(1, seconds=1000.0).line(0).endswith("2:30:00 left")
    assert JobProgress(Counts(), Counts(), 0, 0.0).line(0).strip().startswith("0.0 %")


def test_a_terminal_gets_one_line_and_a_log_some(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    for stream, every, expected in ((Terminal(), 0.1, 4), (io.StringIO(), 10.0, 3)):
        bar = Bar(stream)
        bar(moment(1))
        for _ in range(6):
            clock += every / 2 + 1e-9
            bar(moment(1))
        bar.end()
        bar.end()
        lines = stream.getvalue()
        assert lines.count(progress.JobProgress.line(moment(1), 0).strip()[-20:]) == expected
        assert lines.count("\n") == (1 if stream.isatty() else expected)
        assert lines.count("\r") == (expected if stream.isatty() else 0)

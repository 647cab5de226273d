"""The progress line of a job."""

from __future__ import annotations

from crayon_hf.corpora.job.progress import JobProgress
from crayon_hf.corpora.job.state import Counts


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
    assert JobProgress(Counts(), Counts(), 0, 0.0).line(0).strip().startswith("0.0 %")

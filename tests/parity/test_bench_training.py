"""bench_training: it measures what it says, and judges it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crayon_hf.parity import bench_training
from crayon_hf.parity.bench_training import Bench, Run, same_beginning, shortfalls, to_markdown


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"line {n} of a text, {n * 7 % 13} and some words\n" for n in range(1500)), "utf-8")
    return path


def run_of(engine: str, seconds: float, megabytes: float, size: float = 20) -> Run:
    return Run(engine, size, "1", [seconds], [seconds], [10.0], [10 + megabytes], [megabytes], [], 300, 300)


def bench_of(*runs: Run) -> Bench:
    return Bench(["Machine: one"], {"megabytes": 20}, list(runs))


def test_a_run(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    options = ["--text", str(text), "--vocab-size", "500", "--rounds", "1", "--threads", "1"]
    options += ["--megabytes", "0.05", "--curve", "0.02,1", "--engines", "crayon,tokenizers"]
    bench_training.main([*options, "--json", str(kept)])
    tables = capsys.readouterr().out
    bench = Bench.from_json(json.loads(kept.read_text(encoding="utf-8")))
    assert [run.failed for run in bench.runs] == [""] * 4
    ours, theirs = bench.of(max(run.megabytes for run in bench.runs))
    assert ours.same_tokens == ours.tokens == theirs.tokens == 500 - 256
    assert all(run.seconds[0] > 0 and run.peak_mb[0] > run.before_mb[0] > 1 for run in (ours, theirs))
    assert abs(sum(ours.stages[0].values()) - ours.seconds[0]) < 0.5 * ours.seconds[0] + 0.1
    assert "text has no 1 MB" in tables
    page.write_text(f"before\n{bench_training.BEGIN}\nold\n{bench_training.END}\nafter\n", encoding="utf-8")
    bench_training.main(["--from", str(kept), "--markdown", str(page)])
    written = page.read_text(encoding="utf-8")
    assert written.startswith("before\n")
    assert written.endswith("after\n")
    assert "old" not in written
    assert "| crayon" in written


def test_a_trainer_that_fails_is_said_to(text: Path) -> None:
    run = Run("no-such-trainer", 0.1)
    assert bench_training.train_once(run, str(text), 300, 1) is None
    assert "no-such-trainer" in run.failed or "no_such" in run.failed
    assert run.failed in to_markdown(bench_of(run_of("crayon", 1, 10), Run("other", 20, failed=run.failed)))
    slow = Run("crayon", 0.1)
    assert bench_training.train_once(slow, str(text), 300, 1, limit=0.0) is None
    assert slow.failed == "over 0 s"


def test_targets() -> None:
    ours = run_of("crayon", 1.0, 80)
    assert shortfalls(bench_of(ours, run_of("tokenizers", 6.5, 190), run_of("rustbpe", 1.1, 90))) == []
    found = shortfalls(bench_of(ours, run_of("tokenizers", 5.0, 190), run_of("rustbpe", 0.9, 70)))
    assert [line.partition(" ")[0] for line in found] == ["5.00", "0.90", "80"]
    ours.same_tokens = 5
    assert shortfalls(bench_of(ours, run_of("tokenizers", 7.0, 190))) == ["other tokens than tokenizers's after 5"]
    assert shortfalls(bench_of(run_of("tokenizers", 7.0, 190))) == ["ours was not measured"]


def test_the_tables() -> None:
    runs = [run_of("crayon", 1, 80), run_of("gigatoken", 4, 118), run_of("crayon", 9, 300, size=500)]
    runs[1].same_tokens = 23
    tables = to_markdown(bench_of(*runs))
    assert "| gigatoken 1 | 4.00 | 4.00 | 4.0 | 118 | 118 | 128 | the first 23 |" in tables
    assert "| 500 MB | 9.00 (9.00); 300 |  |" in tables


def test_same_beginning() -> None:
    assert same_beginning(["a", "b"], ["a", "b", "c"]) == 2
    assert same_beginning(["a", "x"], ["a", "b"]) == 1
    assert same_beginning([], []) == 0


def test_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_training.main(["--engines", "what"]) == 2
    assert "what" in capsys.readouterr().err
    assert bench_training.main(["--text", "no-such-text"]) == 2

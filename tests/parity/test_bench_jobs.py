"""Scenarios that are jobs: every engine gets the same work, what it makes is compared, and nothing is left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf import DecodeStream, Tokenizer
from crayon_hf.parity.compare.references import find
from crayon_hf.parity.speed.figures import Report
from parity.bench import jobs, watched
from parity.bench.child.corpora import read_back
from parity.bench.child.serving import Window
from parity.bench.command import Bench, main
from parity.bench.verdicts import verdicts
from parity.bench.watched import Watched, look_at_tree, run_watched
from tests.conftest import SENTENCES
from tests.support.versions import before_1

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(f"{sentence} {n}" for n, sentence in enumerate(SENTENCES * 20)), encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> tuple[Bench, str]:
    kept = tmp_path / "figures.json"
    options = ["--rounds", "1", "--threads", "1", "--megabytes", "0.05", "--silent", "--json", str(kept)]
    assert main([*arguments, *options]) == 0
    tables = capsys.readouterr().out
    bench = Bench.from_json(json.loads(kept.read_text(encoding="utf-8")))
    assert bench.to_markdown().rstrip() == tables.rstrip()
    return bench, tables


@before_1("trainers, which each process that is timed calls")
def test_training(
    text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "VOCAB_SIZE", 400)
    options = ["--text", str(text), "--scenario", "training", "--engines", "crayon,tokenizers,rustbpe"]
    bench, tables = run(capsys, tmp_path, str(gpt2_like), *options)
    (report,) = bench.reports
    assert report.vocabulary == "training"
    speed, memory = verdicts(report)
    assert (speed.ours.unit, memory.ours.unit) == ("s", "MB")
    assert speed.best is not None
    assert speed.best.engine == "tokenizers"
    assert report.standings["crayon"].exact(speed.cell[1])
    if report.standings["rustbpe"].cannot_open:
        assert report.standings["rustbpe"].missing
        assert "| rustbpe | not installed |" in tables


def test_a_file_and_a_corpus(text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--text", str(text), "--scenario", "file,corpora", "--engines", "crayon"]
    bench, _ = run(capsys, tmp_path, str(gpt2_like), *options)
    (report,) = bench.reports
    figures = {(figure.scenario, figure.engine): figure for figure in report.figures}
    assert sorted(figures) == [
        (scenario, engine)
        for scenario in ("corpora", "corpora, memory", "corpora, moved", "corpora, processor", "file", "file, memory")
        for engine in ("crayon", "encode_ragged")
    ]
    assert all(figure.rounds[0] > 0 for figure in figures.values())
    assert all(standing.exact(name) for standing in report.standings.values() for name in report.texts)


def test_a_server(
    text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PROMPTS": {50: 2, 20_000: 1}, "STREAMS": 4, "STEPS": 10, "WORKERS": 2}.items():
        monkeypatch.setattr(jobs, name, value)
    options = ["--text", str(text), "--scenario", "server", "--engines", "crayon"]
    bench, _ = run(capsys, tmp_path, str(gpt2_like), *options)
    (report,) = bench.reports
    units = {
        "prompt of 50 tokens": "\u00b5s",
        "prompt of 20,000 tokens": "\u00b5s",
        "a step of 4 streams": "\u00b5s",
        "start to first token": "\u00b5s",
        "each of 2 workers": "MB",
    }
    for engine in ("crayon", "tokenizers"):
        found = [figure for figure in report.figures if figure.engine == engine]
        assert {figure.text.partition(", ")[2]: figure.unit for figure in found} == units
        assert all(figure.rounds[0] > 0 for figure in found)
        assert all(report.standings[engine].exact(figure.text) for figure in found)
    assert bench.same_ids


def test_a_server_whose_stream_is_another(
    text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the comparison is for: one id of a prompt, or one character of a stream."""
    for name, value in {"PROMPTS": {50: 2}, "STREAMS": 4, "STEPS": 10, "WORKERS": 1}.items():
        monkeypatch.setattr(jobs, name, value)
    run_really = jobs.run_watched  # type: ignore[attr-defined]

    def run_wrongly(script: str, job: dict[str, Any], *rest: Any) -> Watched:
        if job["engine"] == "crayon":
            job = {**job, "streams": [[*row[:-1], row[0]] for row in job["streams"]]}
        return run_really(script, job, *rest)

    monkeypatch.setattr(jobs, "run_watched", run_wrongly)
    options = ["--text", str(text), "--scenario", "server", "--rounds", "1", "--threads", "1", "--silent"]
    assert main([str(gpt2_like), *options, "--engines", "crayon"]) == 1
    assert "a step of 4 streams" in capsys.readouterr().out


def test_a_stream_by_windows(gpt2_like: Path) -> None:
    """What stands in for a library without streams gives the text of a stream."""
    tokenizer = Tokenizer.from_file(gpt2_like)
    window, stream = Window(lambda ids: tokenizer.decode(ids, skip_special_tokens=False)), DecodeStream()
    for id in tokenizer.encode(" ".join(SENTENCES)).ids:
        assert window.step(id) == stream.step(tokenizer, id)


@pytest.mark.slow
def test_calls_of_transformers(text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "repository"
    directory.mkdir()
    (directory / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    (directory / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    options = ["--text", str(text), "--scenario", "transformers"]
    bench, _ = run(capsys, tmp_path, str(directory / "tokenizer.json"), *options)
    cells = bench.reports[0].cells()
    assert any("batch_decode" in text for _, text, _ in cells)
    assert all(set(figures) == {"transformers", "crayon"} for figures in cells.values())


@pytest.mark.slow
def test_datatrove(text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("datatrove")
    pytest.importorskip("orjson", reason="datatrove reads jsonl with it")
    options = ["--text", str(text), "--scenario", "corpora", "--engines", "datatrove,crayon_in_datatrove"]
    bench, _ = run(capsys, tmp_path, str(gpt2_like), *options)
    report = bench.reports[0]
    assert not any(standing.failed or standing.differing for standing in report.standings.values())
    assert {figure.engine for figure in report.figures} >= {"datatrove", "crayon_in_datatrove"}


def test_the_same_corpus_each_time(text: Path, gpt2_like: Path, tmp_path: Path) -> None:
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        size, job = jobs.JOBS["corpora"].make(str(text), 100_000, str(tmp_path / name), find(str(gpt2_like)))
        made.append([Path(file).read_bytes() for file in job["files"]])
        lines = [json.loads(line)["text"] for data in made[-1] for line in data.splitlines()]
        assert sum(len(line.encode()) for line in lines) == size
        assert 100_000 <= size < 103_000
    assert made[0] == made[1]
    assert len(made[0]) == jobs.CORPUS_FILES


def test_read_back(tmp_path: Path) -> None:
    """Ids and the ends of documents, of any width, in any number of files."""

    def store(name: str, width: int, *files: tuple[list[int], list[int]]) -> str:
        for i, (ids, ends) in enumerate(files):
            directory = tmp_path / name / ("deeper [1]" if i else "")
            directory.mkdir(parents=True)
            np.array(ids, f"<u{width}").tofile(directory / f"{i}.ds")
            np.array(ends, "<u8").tofile(directory / f"{i}.ds.index")
        return read_back(str(tmp_path / name), width)

    ids = list(range(10))
    expected = store("one file", 2, (ids, [3, 3, 10]))
    assert store("two", 4, (ids[:3], [3, 3]), (ids[3:], [7])) == expected
    assert store("other ids", 2, (ids[::-1], [3, 3, 10])) != expected
    assert store("other ends", 2, (ids, [3, 4, 10])) != expected


def test_every_round_is_compared(text: Path, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is right once and wrong after that is wrong; one that fails says why; ours decides the status."""
    answers = {"encode_ragged": "aaaa", "crayon": "aaab", "gigatoken": "aaaa", "datatrove": "a!!!"}
    seen: dict[str, int] = {}

    def answer(name: str, engine: str, *_: Any) -> Watched:
        digest = answers[engine][seen.get(engine, 0)]
        seen[engine] = seen.get(engine, 0) + 1
        return Watched({"version": "1", "digest": digest}, "it broke" if digest == "!" else "", 1.0, 1.0, 1.0)

    monkeypatch.setattr(jobs, "_run", answer)
    for rounds, same in ((3, True), (4, False)):
        seen.clear()
        report = Report("gpt2", "tokenizers")
        jobs.measure_job(
            "corpora", find(str(gpt2_like)), [str(text)], report, engines=list(answers), rounds=rounds, bytes=1000
        )
        (of,) = {figure.text for figure in report.figures}
        assert report.same_ids is same
        assert report.standings["crayon"].exact(of) is same
        assert report.standings["gigatoken"].exact(of)
        assert report.standings["datatrove"].failed == {of: "it broke"}


def test_a_script_that_fails_is_said_to(tmp_path: Path) -> None:
    failed = run_watched("training.py", {"engine": "no_such_trainer", "cores": [0]}, str(tmp_path), 1).failed
    assert "no_such_trainer" in failed


CHILDREN = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
with open("../children.new", "w") as file:
    file.write(f"{child.pid} {os.getpid()}")
os.rename("../children.new", "../children")
time.sleep(1000)
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Path:
    """A script that has a child; both sleep."""
    path = tmp_path / "sleeper.py"
    path.write_text(CHILDREN, encoding="utf-8")
    return path


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
def test_children_end_at_the_limit(sleeper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "LIMIT", 3.0)  # until then the children have begun, on a busy machine
    (tmp_path / "work").mkdir()
    assert run_watched(str(sleeper), {}, str(tmp_path / "work"), 1).failed == "over 3 s"
    assert not any(map(is_running, map(int, (tmp_path / "children").read_text().split())))


def test_children_end_with_it(sleeper: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from parity.bench.watched import run_watched; "
        f"run_watched({str(sleeper)!r}, {{}}, {str(work)!r}, 1)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as bench:
        for _ in range(2400):
            if (tmp_path / "children").exists():
                break
            time.sleep(0.05)
        pids = list(map(int, (tmp_path / "children").read_text().split()))
        assert all(map(is_running, pids))
        bench.send_signal(signal.SIGINT)
        bench.communicate(timeout=60)
    assert not any(map(is_running, pids))


def test_memory_of_children() -> None:
    """All below a process count."""
    program = (
        "import subprocess, sys\n"
        "child = \"held = open('/dev/zero', 'rb').read(50_000_000); print('ready', flush=True); input()\"\n"
        "subprocess.run([sys.executable, '-c', child])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdin is not None
        assert parent.stdout.readline() == "ready\n"
        processor: dict[int, float] = {}
        moved: dict[int, int] = {}
        total = look_at_tree(parent.pid, processor, moved)
        parent.stdin.write("\n")
    assert 50 < total < 200
    assert len(processor) == len(moved) == 2
    assert 50_000_000 <= sum(moved.values()) < 100_000_000
    assert all(0 <= seconds < time.process_time() + 60 for seconds in processor.values())


def test_misuse(text: Path, gpt2_like: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        (["--scenario", "nothing"], "no scenario 'nothing'"),
        (["--scenario", "training", "--engines", "spark"], "no engine 'spark'"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([str(gpt2_like), "--text", str(text), *options])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err
    assert main([str(gpt2_like), "--scenario", "training", "--text", os.fspath(text) + "x"]) == 2

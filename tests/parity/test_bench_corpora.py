"""The benchmark of corpora: one text for all, ids that are compared, figures of whole processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf.parity import bench_corpora
from crayon_hf.parity.bench_corpora import Bench, Run, generate, look_at_tree, main, shortfalls, to_markdown
from crayon_hf.parity.corpora_engines import read_back
from tests.conftest import SENTENCES


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(SENTENCES * 20), encoding="utf-8")
    return path


def test_whole(text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ceiling, ours on a part of the files, and what it says; nothing is left."""
    kept = tmp_path / "figures.json"
    document = tmp_path / "page.md"
    document.write_text(f"before\n{bench_corpora.BEGIN}\nold\n{bench_corpora.END}\nafter\n", encoding="utf-8")
    options = ["--gigabytes", "0.0005", "--text", str(text), "--tokenizer", str(gpt2_like), "--rounds", "1"]
    options += ["--engines", "encode_ragged,crayon", "--share", "crayon=0.35", "--directory", str(tmp_path)]
    assert main([*options, "--json", str(kept), "--markdown", str(document)]) in (0, 1)
    bench = Bench.from_json(json.loads(kept.read_text(encoding="utf-8")))
    ceiling, ours = bench.runs
    assert (ceiling.failed, ours.failed) == ("", "")
    assert ours.same_ids is True
    assert 0 < ours.tokens < ceiling.tokens
    assert 0.3 < ours.megabytes / ceiling.megabytes < 0.5
    assert all(run.seconds[0] > 0 and run.cpu[0] > 0 and run.peak_mb[0] > 0 for run in bench.runs)
    written = document.read_text(encoding="utf-8")
    assert to_markdown(bench) in written
    assert "old" not in written
    assert sorted(os.listdir(tmp_path)) == ["figures.json", "page.md"]
    assert main(["--from", str(kept), "--tokenizer", "-"]) in (0, 1)
    assert "| equal |" in capsys.readouterr().out


def test_the_same_corpus_each_time(text: Path, tmp_path: Path) -> None:
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        made.append(generate(tmp_path / name, [str(text)], 100_000))
    first, second = made
    assert [Path(file).read_bytes() for file in first.files] == [Path(file).read_bytes() for file in second.files]
    sizes = []
    for name, size, count in zip(first.files, first.text, first.documents, strict=True):
        sizes += [
            len(json.loads(line)["text"].encode()) for line in Path(name).read_text(encoding="utf-8").splitlines()
        ]
        assert (sum(sizes), len(sizes)) == (size, count)
    assert 100_000 <= first.text[-1] < 103_000
    assert len(generate(tmp_path / "b", [str(text)], 100_000, 3).files) == 12
    assert first.up_to(0.0) == 1
    assert [first.up_to(0.15, workers) for workers in (1, 2, 3, 4, 100)] == [2, 2, 3, 4, len(first.files)]
    assert first.up_to(1.0) == len(first.files)
    assert first.text[first.up_to(0.5) - 1] >= 0.5 * first.text[-1] > first.text[first.up_to(0.5) - 2]


def test_read_back(tmp_path: Path) -> None:
    """Ids and the ends of documents, of any width, in any number of files."""

    def store(name: str, width: int, *files: tuple[list[int], list[int]]) -> tuple[str, int]:
        for i, (ids, ends) in enumerate(files):
            directory = tmp_path / name / ("deeper [1]" if i else "")
            directory.mkdir(parents=True)
            np.array(ids, f"<u{width}").tofile(directory / f"{i}.ds")
            np.array(ends, "<u8").tofile(directory / f"{i}.ds.index")
        return read_back(str(tmp_path / name), width)

    ids = list(range(10))
    expected = store("one file", 2, (ids, [3, 3, 10]))
    assert expected[1] == 10
    assert store("two", 4, (ids[:3], [3, 3]), (ids[3:], [7])) == expected
    assert store("other ids", 2, (ids[::-1], [3, 3, 10])) != expected
    assert store("other ends", 2, (ids, [3, 4, 10])) != expected


def test_ids_of_every_round(text: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is right once and wrong after that is wrong; one whose files cannot be read has failed."""
    answers = {"crayon": ["a", "a"], "gigatoken": ["a", "b"], "datatrove": ["a", None]}

    def run_once(run: Run, *_: object) -> dict[str, Any]:
        work = tmp_path / run.engine
        work.mkdir()
        run.seconds.append(1.0)
        run.peak_mb.append(1.0)
        return {"work": work, "tokens": 1} | ({"digests": ["a"] * run.files} if run.engine == "encode_ragged" else {})

    def ids(output: Path, _: str) -> tuple[str, int]:
        answer = answers[output.parent.name].pop(0)  # type: ignore[attr-defined]
        if answer is None:
            raise FileNotFoundError("no index")
        return answer, 1

    monkeypatch.setattr(bench_corpora, "run_once", run_once)
    monkeypatch.setattr(bench_corpora, "_ids", ids)
    corpus = bench_corpora.Corpus(["x", "y"], [10, 20], [1, 2])
    engines = ["encode_ragged", *answers]
    runs = bench_corpora.measure(corpus, engines, str(gpt2_like), 1, 2, {}, {}, tmp_path)
    assert [run.same_ids for run in runs[:3]] == [None, True, False]
    assert [run.failed for run in runs] == ["", "", "", "its files cannot be read: no index"]


CHILDREN = """#!/bin/sh
sleep 1000 &
echo $! $$ > "$PWD/../children.new"
mv "$PWD/../children.new" "$PWD/../children"
sleep 1000
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Path:
    """An engine's interpreter: it has a child, and both sleep."""
    path = tmp_path / "python"
    path.write_text(CHILDREN, encoding="utf-8")
    path.chmod(0o755)
    return path


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
def test_children_end_at_the_limit(sleeper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_corpora, "LIMIT", 3.0)  # until then the children have begun, on a busy machine
    (tmp_path / "work").mkdir()
    run = Run("gigatoken", 0, 1.0)
    result = bench_corpora.run_once(run, bench_corpora.Corpus([], [], []), "x", 1, str(sleeper), tmp_path / "work")
    assert run.failed == "over 3 s"
    assert run.seconds == []
    assert not any(map(is_running, map(int, (tmp_path / "work" / "children").read_text().split())))
    assert result["work"].parent == tmp_path / "work"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_children_end_with_it(text: Path, sleeper: Path, tmp_path: Path, number: signal.Signals) -> None:
    """And so do its files."""
    work = tmp_path / "work"
    work.mkdir()
    options = ["--gigabytes", "0.0001", "--text", str(text), "--tokenizer", "x", "--engines", "gigatoken,encode_ragged"]
    options += ["--python", f"gigatoken={sleeper}", "--workers", "1", "--directory", str(work)]
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from crayon_hf.parity.bench_corpora import main; sys.exit(main())"
    )
    with subprocess.Popen([sys.executable, "-c", program, *options], stderr=subprocess.PIPE, text=True) as bench:
        children = None
        for _ in range(2400):
            children = next(work.glob("*/children"), None)
            if children is not None:
                break
            time.sleep(0.05)
        assert children is not None
        pids = list(map(int, children.read_text().split()))
        assert all(map(is_running, pids))
        bench.send_signal(number)
        said = bench.communicate(timeout=60)[1]
    assert bench.returncode == 128 + number
    assert "Traceback" not in said
    assert not any(map(is_running, pids))
    assert list(work.iterdir()) == []


def test_memory_of_children() -> None:
    """All below a process count."""
    program = (
        "import subprocess, sys\n"
        "child = \"held = b'x' * 50_000_000; print('ready', flush=True); input()\"\n"
        "subprocess.run([sys.executable, '-c', child])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdin is not None
        assert parent.stdout.readline() == "ready\n"
        processor: dict[int, float] = {}
        total, anonymous = look_at_tree(parent.pid, processor)
        parent.stdin.write("\n")
    assert 50 < anonymous <= total < 200
    assert len(processor) == 2
    assert all(0 <= seconds < time.process_time() + 60 for seconds in processor.values())


def test_shortfalls() -> None:
    ceiling = Run("encode_ragged", 1, 100, seconds=[1.0], cpu=[1.0], peak_mb=[1.0], anonymous_mb=[1.0])
    ours = replace(ceiling, engine="crayon", seconds=[1.5], same_ids=True)
    other = replace(ceiling, engine="gigatoken", seconds=[0.2], same_ids=False)
    assert shortfalls(Bench([], {}, [ceiling, ours, other])) == []  # who is wrong is not faster
    assert "**other ids**" in to_markdown(Bench([], {}, [ceiling, ours, other]))
    slow = replace(ours, seconds=[2.5], peak_mb=[1200.0], same_ids=False)
    other = replace(other, seconds=[2.0], same_ids=True)
    assert shortfalls(Bench([], {}, [ceiling, slow, other])) == [
        "40% of the speed of encode_ragged",
        "other ids than encode_ragged's",
        "1,200 MB of memory",
        "gigatoken is faster",
    ]
    failed = replace(ours, seconds=[], failed="no such file")
    assert shortfalls(Bench([], {}, [failed])) == ["ours was not measured"]
    assert shortfalls(Bench([], {}, [replace(ceiling, failed="no"), replace(ours, same_ids=None)])) == [
        "encode_ragged was not measured: there is nothing to compare with",
        "ids were not compared",
    ]
    assert "no such file" in to_markdown(Bench([], {}, [failed]))


def test_misuse(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        (["--engines", "spark"], "no engine named spark"),
        (["--share", "0.1"], "is not NAME=VALUE"),
        (["--share", "encode_ragged=0.1"], "--share has encode_ragged"),
        (["--engines", "crayon"], "--engines lacks encode_ragged"),
        (["--workers", "100000"], "--workers is 100000, expected 1 to"),
        (["--text", "/nowhere"], "no text '/nowhere'"),
    ):
        assert main(["--tokenizer", "x", "--gigabytes", "0.0001", "--text", str(text), *options]) == 2
        assert said in capsys.readouterr().err


def test_datatrove(text: Path, gpt2_like: Path, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    pytest.importorskip("orjson", reason="datatrove reads jsonl with it")
    kept = tmp_path / "figures.json"
    options = ["--gigabytes", "0.0001", "--text", str(text), "--tokenizer", str(gpt2_like), "--rounds", "1"]
    assert main([*options, "--engines", "encode_ragged,datatrove", "--json", str(kept)]) == 1  # ours is not there
    run = Bench.from_json(json.loads(kept.read_text(encoding="utf-8"))).runs[1]
    assert (run.failed, run.same_ids) == ("", True)

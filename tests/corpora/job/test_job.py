"""`tokenize_corpus` writes the same bytes with any number of processes and after interruptions. An error is reported,
and ends only the work that depends on the failed part."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf import BadRecordError, CorpusError, JobError
from crayon_hf.corpora.job import pool
from crayon_hf.corpora.job.encoder import Work, job_tokenizer, plan_encoding
from crayon_hf.corpora.job.job_spec import Task
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.pool import START
from crayon_hf.corpora.job.progress import JobProgress
from crayon_hf.corpora.job.shard import do_task
from crayon_hf.text_readers.addresses import find_inputs
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import corpus, in_workers, reference_ids, rows_of, texts_of, tree, write_jsonl

no_signals = pytest.mark.skipif(os.name == "nt", reason="signals")
job = partial(job_cases.job, group_bytes=4000)  # each file is one task, or two files share a task


def test_processes_make_no_difference(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """One process, three processes, or a Tokenizer pickled for them give the same bytes, from the reference's ids."""
    summary = job(inputs, tmp_path / "1", gpt2_like)
    expected = tree(tmp_path / "1")
    opened = crayon_hf.Tokenizer.from_file(gpt2_like)
    job(inputs, tmp_path / "3", gpt2_like, workers=3, threads=2, batch_bytes=500)
    job(inputs, tmp_path / "o", opened, workers=2)
    assert tree(tmp_path / "3") == expected
    named = tree(tmp_path / "o")
    assert {**named, "manifest.json": b""} == {**expected, "manifest.json": b""}  # a Tokenizer object has no name
    rows = [row for i in range(summary.tasks) for row in rows_of(tmp_path / "1" / f"{i:05d}")]
    assert rows == reference_ids(gpt2_like, texts_of(inputs))
    assert summary.counts.documents == len(rows)
    assert summary.counts.tokens == sum(map(len, rows))
    assert summary.tasks > 1


def test_processes_read_special_tokens_as_the_tokenizer_does(gpt2_like: Path, tmp_path: Path) -> None:
    """A pickle does not store `encode_special_tokens`, so the job passes it on."""
    text = "a fox<|endoftext|>and"
    write_jsonl(tmp_path / "in" / "0.jsonl", [text])
    opened = crayon_hf.Tokenizer.from_file(gpt2_like)
    for as_text in (True, False):
        opened.encode_special_tokens = as_text
        job(tmp_path / "in", tmp_path / str(as_text), opened, workers=2)
        assert rows_of(tmp_path / str(as_text) / "00000") == [opened.encode(text).ids]


@pytest.mark.parametrize("format", ["megatron", "mds"])
def test_a_second_call_does_nothing(inputs: Path, gpt2_like: Path, tmp_path: Path, format: str) -> None:
    first = job(inputs, tmp_path / "out", gpt2_like, format, max_tokens_per_shard=2000)
    was = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    again = job(inputs, tmp_path / "out", gpt2_like, format, max_tokens_per_shard=2000, workers=2, batch_bytes=99)
    assert (first.already_done, again.already_done) == (False, True)
    assert again.counts == first.counts
    assert again.output_bytes == first.output_bytes
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == was
    written = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    names = [file["name"] for task in written["tasks"] for shard in task["shards"] for file in shard["files"]]
    names += [file["name"] for file in written["merged"]]
    assert sorted([*names, "manifest.json"]) == sorted(tree(tmp_path / "out"))
    assert first.output_bytes == sum(len(data) for name, data in tree(tmp_path / "out").items() if name in names)


def test_refused(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    data = tmp_path / "in"
    shutil.copytree(inputs, data)
    job(data, tmp_path / "out", gpt2_like)
    was = tree(tmp_path / "out")
    for change, says in [
        ({"append_eos": True}, "append_eos was off, is on"),
        ({"format": "npy"}, 'format was "bin", is "npy"'),
        ({"group_bytes": 5}, "group_bytes was 4000, is 5"),
    ]:
        with pytest.raises(JobError, match=says):
            job(data, tmp_path / "out", gpt2_like, **change)
    with open(data / "1.jsonl", "ab") as file:
        file.write(b'{"text": "more"}\n')
    with pytest.raises(JobError, match=r"1\.jsonl has changed \([\d,]+ bytes then, [\d,]+ now\)"):
        job(data, tmp_path / "out", gpt2_like)
    assert tree(tmp_path / "out") == was
    summary = job(data, tmp_path / "out", gpt2_like, "npy", overwrite=True)
    assert not summary.already_done
    fresh = job(data, tmp_path / "fresh", gpt2_like, "npy")
    assert summary.counts == fresh.counts
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")
    (tmp_path / "out" / "00001.npy").unlink()
    with pytest.raises(JobError, match="00001 was finished, but is missing or has changed"):
        job(data, tmp_path / "out", gpt2_like, "npy")


def test_files_of_others(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_bytes(b"mine")
    for overwrite in (False, True):
        with pytest.raises(JobError, match=r"files of other programs \(notes\.txt\)"):
            job(inputs, out, gpt2_like, overwrite=overwrite)
    assert tree(out) == {"notes.txt": b"mine"}
    (out / "notes.txt").rename(tmp_path / "notes.txt")
    job(inputs, out, gpt2_like)
    (tmp_path / "notes.txt").rename(out / "notes.txt")
    job(inputs, out, gpt2_like, "npy", overwrite=True)
    assert tree(out)["notes.txt"] == b"mine"  # files beside ours are left alone
    with pytest.raises(JobError, match="is not a directory"):
        job(inputs, out / "notes.txt", gpt2_like)


@pytest.mark.slow
def test_an_output_within_the_inputs(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A second run does not read the output of the first."""
    shutil.copytree(inputs, tmp_path / "in")
    first = job(tmp_path / "in", tmp_path / "in" / "out", gpt2_like, "parquet")
    again = job(tmp_path / "in", tmp_path / "in" / "out", gpt2_like, "parquet")
    assert again.already_done
    assert again.counts == first.counts
    with pytest.raises(CorpusError, match="all inputs are in the output directory"):
        job(tmp_path / "in" / "out", tmp_path / "in" / "out", gpt2_like, "parquet", overwrite=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_bad_file(inputs: Path, gpt2_like: Path, tmp_path: Path, workers: int) -> None:
    """If one file cannot be read, the others are encoded, and only this file remains for the next call."""
    shutil.copytree(inputs, tmp_path / "in")
    job(tmp_path / "in", tmp_path / "whole", gpt2_like, group_bytes=1)
    path, away = tmp_path / "in" / "1.jsonl", tmp_path / "away"

    def take_away(progress: JobProgress) -> None:
        if not away.exists():
            path.rename(away)

    with pytest.raises(JobError, match=r"1 of 4 tasks not done: .*1\.jsonl.*run it again to continue"):
        job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers, progress=take_away)
    away.rename(path)
    summary = job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers)
    assert 0 < summary.tokenized.documents < summary.counts.documents
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


OTHERS_WAIT = """
import contextlib
from crayon_hf.corpora.job import pool
from crayon_hf.corpora.storage import stopping
do_task = pool.do_task
def late(task, encoding, progress):
    if task.name != "00000":
        encoding.has_read()
        with contextlib.suppress(stopping.Stopped):
            stopping.pause(60)
    return do_task(task, encoding, progress)
pool.do_task = late
"""
"""Makes all tasks but the first wait until they are stopped."""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_record_ends_all_tasks(
    gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    corpus(tmp_path / "in", 40, 2)
    (tmp_path / "in" / "0.jsonl").write_text("{oops\n")
    if workers == 1:
        monkeypatch.setattr(pool, "do_task", do_task)  # restores it later
        exec(OTHERS_WAIT, {})
    else:
        in_workers(monkeypatch, OTHERS_WAIT)
    with pytest.raises(BadRecordError, match=r"0\.jsonl, line 1"):
        job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers)
    assert list((tmp_path / "out").glob("*.bin")) == []
    assert not [name for name in tree(tmp_path / "out") if name.endswith("tmp")]


DIES = """
import os, signal
from crayon_hf.corpora.job import pool
do_task = pool.do_task
def dying(task, encoding, progress):
    def told(counts):
        progress(counts)
        if task.name == "00000" and IS_TIME:
            os.kill(os.getpid(), signal.SIGKILL)
    return do_task(task, encoding, told)
pool.do_task = dying
"""
"""Kills a worker after the first batch of the first task, if it IS_TIME. The worker has no other task then."""


@no_signals
def test_a_worker_that_is_killed(
    inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """If a worker is killed, its task is begun again, and the files are the same."""
    job(inputs, tmp_path / "whole", gpt2_like, group_bytes=1)
    killed = str(tmp_path / "killed")
    in_workers(monkeypatch, DIES.replace("IS_TIME", f"not os.path.exists({killed!r}) and not os.mkdir({killed!r})"))
    summary = job(inputs, tmp_path / "out", gpt2_like, group_bytes=1, workers=2, batch_bytes=300)
    assert capfd.readouterr().err.count("trying again") == 1
    assert summary.tasks == 4
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@pytest.mark.skipif(os.name == "nt", reason="terminate kills a process there")
def test_a_worker_that_is_ended(gpt2_like: Path, tmp_path: Path) -> None:
    """After SIGTERM, which a job sends when it ends early, a worker removes the temporary files of its task."""
    write_jsonl(tmp_path / "0.jsonl", ["some words of a text"] * 200_000)  # takes seconds
    (tmp_path / "out" / "_crayon").mkdir(parents=True)
    (tmp_path / "out" / "_crayon" / "job.json").write_text("{}")
    work, parcel = Work(job_tokenizer(str(gpt2_like)), Options(format="bin"), 1000).sent()
    task = Task("00000", tuple(find_inputs([tmp_path / "0.jsonl"])), str(tmp_path / "out" / "00000"))
    command = [sys.executable, "-I", "-c", START, *sys.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        worker.stdin.write(pickle.dumps((work, parcel, 1)) + pickle.dumps(task))
        worker.stdin.flush()
        while not (temporary := list((tmp_path / "out").glob(".*.crayon-tmp"))):
            assert worker.poll() is None
        worker.terminate()
        assert worker.wait() == 0
    assert not temporary[0].exists()
    assert not list((tmp_path / "out").glob("*.bin"))


@pytest.mark.slow
@no_signals
def test_a_task_that_kills_its_workers(
    gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A task whose workers are always killed is begun twice, then reported with the signal. The other task is
    finished."""
    write_jsonl(tmp_path / "in" / "0.jsonl", ["some words of a text"] * 1000)
    write_jsonl(tmp_path / "in" / "1.jsonl", ["short"])
    options: dict[str, Any] = {"group_bytes": 1, "workers": 2, "batch_bytes": 100}
    with monkeypatch.context() as patch:
        in_workers(patch, DIES.replace("IS_TIME", "True"))
        with pytest.raises(JobError, match=r"1 of 2 tasks not done: task 00000: its worker was killed by SIGKILL"):
            job(tmp_path / "in", tmp_path / "out", gpt2_like, **options)
    assert capfd.readouterr().err.count("trying again") == 1
    assert rows_of(tmp_path / "out" / "00001") == reference_ids(gpt2_like, ["short"])
    assert not any("crayon-tmp" in name for name in tree(tmp_path / "out"))
    job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1)
    assert rows_of(tmp_path / "out" / "00000") == 1000 * reference_ids(gpt2_like, ["some words of a text"])


@pytest.mark.parametrize("options", [{}, {"deduplicate": True, "held_out": 0.3}, {"shuffle": True}])
def test_two_at_once(inputs: Path, gpt2_like: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    """The second job does all tasks while the first runs, and both end with the same files."""
    summaries: list[Any] = []

    def second(progress: JobProgress) -> None:
        if not summaries:
            summaries.append(None)
            summaries.append(job(inputs, tmp_path / "out", gpt2_like, **options))

    first = job(inputs, tmp_path / "out", gpt2_like, progress=second, **options)
    assert first.counts == summaries[1].counts
    job(inputs, tmp_path / "whole", gpt2_like, **options)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_another_job_begins_at_once(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A job with `overwrite` begins while another runs. The first job reports that and writes nothing more."""
    said: list[str] = []

    def second(progress: JobProgress) -> None:
        if not said:
            said.append("begun")
            job(inputs, tmp_path / "out", gpt2_like, "npy", overwrite=True)

    with pytest.raises(JobError, match='format was "npy", is "bin"'):
        job(inputs, tmp_path / "out", gpt2_like, progress=second)
    job(inputs, tmp_path / "whole", gpt2_like, "npy")
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_progress(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        seen: list[JobProgress] = []
        place = tmp_path / f"{workers}"
        summary = job(inputs, place, gpt2_like, workers=workers, batch_bytes=500, progress=seen.append)
        assert seen[-1].counts == summary.counts == summary.tokenized
        assert seen[-1].input_bytes == summary.counts.input_bytes
        assert [p.counts.documents for p in seen] == sorted(p.counts.documents for p in seen)


def test_a_runner(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A runner, such as a cluster, may run the tasks in any order. Tasks that it leaves out or fails are reported."""

    def backwards(tasks: Any, work: Any, progress: Any) -> Any:
        for task in reversed(tasks):
            yield task, do_task(task, plan_encoding(work, 1))

    def lazy(tasks: Any, work: Any, progress: Any) -> Any:
        yield tasks[0], OSError(5, "Input/output error", "a disk")

    with pytest.raises(JobError, match="4 of 4 tasks not done: a disk: Input/output error"):
        job(inputs, tmp_path / "out", gpt2_like, group_bytes=1, runner=lazy)
    job(inputs, tmp_path / "out", gpt2_like, group_bytes=1, runner=backwards)
    job(inputs, tmp_path / "whole", gpt2_like, group_bytes=1)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")

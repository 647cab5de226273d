"""`tokenize_corpus`: the same bytes however it is run, resumed and refused; what goes wrong is said, and stops what it
must."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf import BadRecordError, CorpusError, JobError
from crayon_hf.corpora.formats.base import ShardWriter
from crayon_hf.corpora.job.corpus import tokenize_corpus
from crayon_hf.corpora.job.encoder import job_tokenizer, plan_encoding
from crayon_hf.corpora.job.options import Options
from crayon_hf.corpora.job.progress import JobProgress
from crayon_hf.corpora.job.shard import inputs_of, run_shard
from crayon_hf.corpora.job.worker import START
from tests.corpora.job.job_cases import FORMAT_CASES, corpus, documents_of, reference_ids, rows_of, tree, write_jsonl

GROUP = 4000
"""Bytes: each file of a corpus is a task of its own, or two are one."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, 4)
    return directory


def job(inputs: Any, output: Path, tokenizer: Any, format: str = "bin", **options: Any) -> Any:
    tokenizer = str(tokenizer) if isinstance(tokenizer, Path) else tokenizer
    values = {"workers": 1, "group_bytes": GROUP, **options}
    return tokenize_corpus(inputs, output, format, tokenizer=tokenizer, **values)


def texts_of(inputs: Path) -> list[str]:
    lines = (line for path in sorted(inputs.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines())
    return [json.loads(line)["text"] for line in lines]


def test_processes_make_no_difference(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """One process, three, a Tokenizer that is pickled for them: the same bytes, those of the reference's ids."""
    summary = job(inputs, tmp_path / "1", gpt2_like)
    expected = tree(tmp_path / "1")
    opened = crayon_hf.Tokenizer.from_file(gpt2_like)
    job(inputs, tmp_path / "3", gpt2_like, workers=3, threads=2, batch_bytes=500)
    job(inputs, tmp_path / "o", opened, workers=2)
    assert tree(tmp_path / "3") == expected
    named = tree(tmp_path / "o")
    assert {**named, "manifest.json": b""} == {**expected, "manifest.json": b""}  # an object has no name
    rows = [row for i in range(summary.tasks) for row in rows_of(tmp_path / "1" / f"{i:05d}")]
    assert rows == reference_ids(gpt2_like, texts_of(inputs))
    assert summary.counts.documents == len(rows)
    assert summary.counts.tokens == sum(map(len, rows))
    assert summary.tasks > 1


def test_processes_read_special_tokens_as_the_tokenizer_does(gpt2_like: Path, tmp_path: Path) -> None:
    """Whether as text, a pickle does not say."""
    text = "a fox<|endoftext|>and"
    write_jsonl(tmp_path / "in" / "0.jsonl", [text])
    opened = crayon_hf.Tokenizer.from_file(gpt2_like)
    for as_text in (True, False):
        opened.encode_special_tokens = as_text
        job(tmp_path / "in", tmp_path / str(as_text), opened, workers=2)
        assert rows_of(tmp_path / str(as_text) / "00000") == [opened.encode(text).ids]


@pytest.mark.parametrize("format", FORMAT_CASES)
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


def test_tasks(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Small files go together, whole and in order; the order of files is shuffled with the documents'."""
    sizes = [path.stat().st_size for path in sorted(inputs.glob("*.jsonl"))]
    assert job(inputs, tmp_path / "each", gpt2_like, group_bytes=1).tasks == 4
    assert job(inputs, tmp_path / "all", gpt2_like, group_bytes=sum(sizes)).tasks == 1
    assert job(inputs, tmp_path / "two", gpt2_like, group_bytes=sizes[0] + sizes[1]).tasks >= 2
    job(inputs, tmp_path / "shuffled", gpt2_like, group_bytes=sum(sizes), shuffle=True, seed=5)
    rows, found = rows_of(tmp_path / "all" / "00000"), rows_of(tmp_path / "shuffled" / "00000")
    assert found != rows
    assert sorted(found) == sorted(rows)
    other = job(inputs, tmp_path / "other", gpt2_like, group_bytes=sum(sizes), shuffle=True, seed=6)
    assert other.counts.documents == len(rows)
    assert rows_of(tmp_path / "other" / "00000") != found


def test_refused(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    data = tmp_path / "in"
    shutil.copytree(inputs, data)
    job(data, tmp_path / "out", gpt2_like)
    was = tree(tmp_path / "out")
    for change, says in [
        ({"append_eos": True}, "append_eos was false, is true"),
        ({"format": "npy"}, 'format was "bin", is "npy"'),
        ({"group_bytes": 5}, "group_bytes was 4000, is 5"),
    ]:
        with pytest.raises(JobError, match=says):
            job(data, tmp_path / "out", gpt2_like, **change)
    with open(data / "1.jsonl", "ab") as file:
        file.write(b'{"text": "more"}\n')
    with pytest.raises(JobError, match=r"1\.jsonl has changed \(\d+ bytes then, \d+ now\)"):
        job(data, tmp_path / "out", gpt2_like)
    assert tree(tmp_path / "out") == was
    summary = job(data, tmp_path / "out", gpt2_like, "npy", overwrite=True)
    assert not summary.already_done
    fresh = job(data, tmp_path / "fresh", gpt2_like, "npy")
    assert summary.counts == fresh.counts
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")
    (tmp_path / "out" / "00001.npy").unlink()
    with pytest.raises(JobError, match="00001 was done, and is gone or has changed"):
        job(data, tmp_path / "out", gpt2_like, "npy")


def test_files_of_others(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_bytes(b"mine")
    for overwrite in (False, True):
        with pytest.raises(JobError, match=r"files of others \(notes\.txt\)"):
            job(inputs, out, gpt2_like, overwrite=overwrite)
    assert tree(out) == {"notes.txt": b"mine"}
    (out / "notes.txt").rename(tmp_path / "notes.txt")
    job(inputs, out, gpt2_like)
    (tmp_path / "notes.txt").rename(out / "notes.txt")
    job(inputs, out, gpt2_like, "npy", overwrite=True)
    assert tree(out)["notes.txt"] == b"mine"  # beside ours it is left alone
    with pytest.raises(JobError, match="is not a directory"):
        job(inputs, out / "notes.txt", gpt2_like)


@pytest.mark.slow
def test_an_output_within_the_inputs(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """What a job writes is not what it reads, the second time."""
    shutil.copytree(inputs, tmp_path / "in")
    first = job(tmp_path / "in", tmp_path / "in" / "out", gpt2_like, "parquet")
    again = job(tmp_path / "in", tmp_path / "in" / "out", gpt2_like, "parquet")
    assert again.already_done
    assert again.counts == first.counts
    with pytest.raises(CorpusError, match="all inputs are in the output directory"):
        job(tmp_path / "in" / "out", tmp_path / "in" / "out", gpt2_like, "parquet", overwrite=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_bad_file(inputs: Path, gpt2_like: Path, tmp_path: Path, workers: int) -> None:
    """A file that cannot be read, and a damaged one: the others are done, and only these are left for the next call."""
    shutil.copytree(inputs, tmp_path / "in")
    job(tmp_path / "in", tmp_path / "whole", gpt2_like, group_bytes=1)
    paths = sorted((tmp_path / "in").glob("*.jsonl"))

    class Gone:
        """Takes a file away when the job has begun."""

        def __init__(self) -> None:
            self.left = True

        def __call__(self, progress: JobProgress) -> None:
            if self.left:
                self.left = False
                paths[1].rename(tmp_path / "away")
                paths[2].rename(tmp_path / "away2")
                paths[2].mkdir()

    with pytest.raises(JobError, match=r"2 of 4 tasks not done: .*[12]\.jsonl.*the same command goes on") as failed:
        job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers, progress=Gone())
    assert "\n" not in str(failed.value)
    assert not any("crayon-tmp" in name for name in tree(tmp_path / "out"))
    (tmp_path / "away").rename(paths[1])
    paths[2].rmdir()
    (tmp_path / "away2").rename(paths[2])
    summary = job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers)
    assert 0 < summary.tokenized.documents < summary.counts.documents
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_bad_record_stops_everything(gpt2_like: Path, tmp_path: Path, workers: int) -> None:
    for i in range(6):
        write_jsonl(tmp_path / "in" / f"{i}.jsonl", documents_of(30, i) if i != 1 else ["fine"])
    with open(tmp_path / "in" / "1.jsonl", "ab") as file:
        file.write(b'{"text": 1}\n')
    with pytest.raises(BadRecordError, match=r"1\.jsonl, line 2: .*--bad-records skip or replace"):
        job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers)
    assert not (tmp_path / "out" / "manifest.json").exists()
    summary = job(
        tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1, workers=workers, bad_records="skip", overwrite=True
    )
    assert summary.counts.bad_records == 1
    listed = [json.loads(line) for line in (tmp_path / "out" / "bad-records.jsonl").read_text("utf-8").splitlines()]
    assert [(record["file"], record["line"]) for record in listed] == [(str(tmp_path / "in" / "1.jsonl"), 2)]


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def open_files_of(process: int) -> list[str]:
    files = []
    with contextlib.suppress(OSError):  # it ended, or closed one meanwhile
        files += [os.readlink(descriptor.path) for descriptor in os.scandir(f"/proc/{process}/fd")]
    return files


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_a_worker_that_is_killed(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Once it is begun again; what it did before stays. A task whose workers always die is reported, the rest done."""
    job(inputs, tmp_path / "whole", gpt2_like, group_bytes=1)
    killed: list[int] = []
    lock = threading.Lock()

    def kill_first(progress: JobProgress) -> None:
        with lock:
            children = children_of(os.getpid())
            if not killed and children:
                killed.append(children[0])
                os.kill(children[0], signal.SIGKILL)

    summary = job(inputs, tmp_path / "out", gpt2_like, group_bytes=1, workers=2, batch_bytes=300, progress=kill_first)
    assert killed
    assert summary.tasks == 4
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@contextlib.contextmanager
def worker_process(tokenizer: Path, options: dict[str, Any]) -> Iterator[Any]:
    """(process, function that says something to it, function that gives what it says); it ends as its input does."""
    setup = {"path": sys.path, "tokenizer": str(tokenizer), "pickled": "", "options": options}
    setup |= {"digest": job_tokenizer(str(tokenizer)).digest, "batch_bytes": 1 << 20, "threads": 1}
    command = [sys.executable, "-I", "-c", START]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        said, heard = worker.stdin, worker.stdout
        assert said is not None
        assert heard is not None

        def say(message: Any) -> None:
            said.write(json.dumps(message).encode() + b"\n")
            said.flush()

        say(setup)
        yield worker, say, lambda: json.loads(heard.readline())
        said.close()
        worker.wait(60)


@pytest.mark.concurrency
def test_a_task_is_read_while_another_is_brought_to_the_disk(
    inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of each task but the last waits until the next one has begun."""
    finish = ShardWriter.finish

    def late(self: ShardWriter) -> Any:
        number = int(Path(self.prefix).name)
        deadline = time.monotonic() + 60
        while number < 3 and not (tmp_path / "out" / "_crayon" / f"{number + 1:05}.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return finish(self)

    monkeypatch.setattr(ShardWriter, "finish", late)
    assert job(inputs, tmp_path / "out", gpt2_like, group_bytes=1).tasks == 4
    monkeypatch.undo()
    job(inputs, tmp_path / "whole", gpt2_like, group_bytes=1)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_a_worker_says_that_it_has_read(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """So that it gets the next task before it has done with that one."""
    options = Options("bin").checked()
    with worker_process(gpt2_like, options._asdict()) as (_, say, hear):
        assert hear() == {"event": "ready"}
        for i, file in enumerate(inputs_of(inputs, None)):
            say({"name": f"{i:05}", "files": [file], "output": str(tmp_path / f"{i:05}")})
        events = [hear() for _ in range(12)]
    for i in range(4):
        said = [event["event"] for event in events if event["task"] == f"{i:05}"]
        assert said == ["progress", "read", "done"] or said == ["read", "progress", "done"]


def test_what_is_read_is_written_when_another_task_stops_all(gpt2_like: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in" / "0.jsonl", ["fine"])
    (tmp_path / "in" / "1.jsonl").write_bytes(b'{"text": 1}\n')
    write_jsonl(tmp_path / "in" / "2.jsonl", ["never begun"])
    with pytest.raises(BadRecordError):
        job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1)
    assert rows_of(tmp_path / "out" / "00000") == reference_ids(gpt2_like, ["fine"])
    assert not (tmp_path / "out" / "_crayon" / "00002.json").exists()


def test_a_worker_ends_with_whoever_started_it(gpt2_like: Path) -> None:
    """Also one that has nothing to do, and so would never notice that nobody hears it."""
    with worker_process(gpt2_like, {}) as (worker, _, hear):
        assert hear() == {"event": "ready"}
    assert worker.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_a_task_that_kills_its_workers(gpt2_like: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is begun twice, then reported with the signal; the other task is done all the same."""
    write_jsonl(tmp_path / "in" / "0.jsonl", ["some words of a text"] * 100_000)  # takes seconds, a line at a time
    write_jsonl(tmp_path / "in" / "1.jsonl", ["short"])

    def kill(progress: JobProgress) -> None:
        for child in children_of(os.getpid()):
            if any("/00000" in file for file in open_files_of(child)):
                os.kill(child, signal.SIGKILL)

    options: dict[str, Any] = {"group_bytes": 1, "workers": 2, "batch_bytes": 100}
    with pytest.raises(JobError, match=r"1 of 2 tasks not done: task 00000: its worker was killed by SIGKILL"):
        job(tmp_path / "in", tmp_path / "out", gpt2_like, progress=kill, **options)
    assert capfd.readouterr().err.count("it is begun again") == 1
    assert rows_of(tmp_path / "out" / "00001") == reference_ids(gpt2_like, ["short"])
    assert not any("crayon-tmp" in name for name in tree(tmp_path / "out"))
    job(tmp_path / "in", tmp_path / "out", gpt2_like, group_bytes=1)
    assert rows_of(tmp_path / "out" / "00000") == 100_000 * reference_ids(gpt2_like, ["some words of a text"])


def test_two_at_once(inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused while the first is at work, and does no harm."""
    monkeypatch.setattr("crayon_hf.corpora.job.locks._PATIENCE", 0.1)
    said: list[str] = []

    def second(progress: JobProgress) -> None:
        if not said:
            with pytest.raises(JobError, match="is being written by another process") as refused:
                job(inputs, tmp_path / "out", gpt2_like)
            said.append(str(refused.value))

    job(inputs, tmp_path / "out", gpt2_like, progress=second)
    job(inputs, tmp_path / "whole", gpt2_like)
    assert len(said) == 1
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_progress(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        seen: list[JobProgress] = []
        summary = job(
            inputs, tmp_path / f"{workers}", gpt2_like, workers=workers, batch_bytes=500, progress=seen.append
        )
        assert seen[-1].counts == summary.counts
        assert seen[-1].input_bytes == summary.counts.input_bytes
        assert [p.counts.documents for p in seen] == sorted(p.counts.documents for p in seen)
        assert all(p.line() for p in seen)
        assert summary.tokenized == summary.counts
        assert json.loads(json.dumps(summary.as_json()))["tokens"] == summary.counts.tokens


def test_an_interrupt_that_an_error_took_the_place_of(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """As `threading` does where a Ctrl-C comes as a lock is taken again."""

    def progress(seen: JobProgress) -> None:
        if seen.counts.documents == 0:  # not within a task yet
            return
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(KeyboardInterrupt):
        job(inputs, tmp_path / "out", gpt2_like, batch_bytes=500, progress=progress)
    job(inputs, tmp_path / "out", gpt2_like)
    job(inputs, tmp_path / "whole", gpt2_like)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_a_runner(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Another engine does the tasks, in any order; what it does not do, or cannot, is reported."""

    def backwards(tasks: Any, tokenizer: Any, options: Any, progress: Any) -> Any:
        for task in reversed(tasks):
            yield task, run_shard(task.files, task.output, options, plan_encoding(tokenizer, options, 1), 1 << 20)

    def lazy(tasks: Any, tokenizer: Any, options: Any, progress: Any) -> Any:
        yield tasks[0], OSError(5, "Input/output error", "a disk")

    with pytest.raises(JobError, match="4 of 4 tasks not done: a disk: Input/output error"):
        job(inputs, tmp_path / "out", gpt2_like, group_bytes=1, runner=lazy)
    job(inputs, tmp_path / "out", gpt2_like, group_bytes=1, runner=backwards)
    job(inputs, tmp_path / "whole", gpt2_like, group_bytes=1)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_inputs_in_memory(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Of fsspec's memory file system, which other processes do not see."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for path in inputs.glob("*.jsonl"):
        memory.pipe(f"/corpus-job/{path.name}", path.read_bytes())
    summary = job("memory://corpus-job/*.jsonl", tmp_path / "out", gpt2_like, workers=2)
    memory.rm("/corpus-job", recursive=True)
    rows = [row for i in range(summary.tasks) for row in rows_of(tmp_path / "out" / f"{i:05d}")]
    assert rows == reference_ids(gpt2_like, texts_of(inputs))

"""Workers are disturbed while they have two tasks: the objects of the first are uploading, the second is being read.

In each case, repeating the command gives the files of a local run as objects, and no other objects.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from crayon_hf.corpora.job.pool import START
from crayon_hf.corpora.storage import answers
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import corpus, crayon_threads, tree
from tests.corpora.storage.conftest import Bucket, local_files
from tests.corpora.storage.proxy import RESET, UNAVAILABLE, Fault, Proxy, Request

TASKS = 6


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, TASKS, 10)
    return directory


job = partial(job_cases.job, format="megatron", group_bytes=1)


def command(inputs: Path, tokenizer: Path, workers: int) -> list[str]:
    said = ["tokenize", inputs, "-o", "s3://bkt/out", "-t", tokenizer, "--group-bytes", "1", "--quiet"]
    return [sys.executable, "-m", "crayon_hf", *map(str, said), "--workers", str(workers)]


class Holding:
    """A fault for the proxy that holds uploads until `tasks` tasks have begun, calls `happens` once, and then lets the
    uploads continue."""

    def __init__(self, tasks: int, happens: Callable[[], None], fault: Fault = None) -> None:
        self._tasks, self._happens, self._fault = tasks, happens, fault
        self._begun: set[str] = set()
        self._lock, self._may_go = threading.Lock(), threading.Event()
        self.has_happened = False

    def __call__(self, request: Request) -> Fault:
        is_state = request.target.endswith(".json") and "_crayon/0" in request.target
        with self._lock:
            if request.method == "PUT" and is_state:
                self._begun.add(request.target)
            is_time = len(self._begun) >= self._tasks and not self.has_happened
            self.has_happened |= is_time
        if is_time:
            self._happens()
            self._may_go.set()
        if request.method in ("PUT", "POST") and ".bin" in request.target:
            assert self._may_go.wait(600)
            return self._fault
        return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "fault", "workers"),
    [
        ("SIGINT", None, 1),
        ("SIGINT", RESET, 2),
        ("SIGTERM", None, 1),
        ("SIGTERM twice", RESET, 2),
        ("SIGKILL", None, 2),
        ("SIGKILL to all", RESET, 2),
    ],
)
def test_a_job_that_is_ended(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, how: str, fault: Fault, workers: int
) -> None:
    job(inputs, tmp_path / "whole", gpt2_like)
    started = subprocess.Popen(
        command(inputs, gpt2_like, workers), start_new_session=True, stderr=subprocess.PIPE, text=True
    )

    def end() -> None:
        number = getattr(signal, how.split()[0])
        if how == "SIGKILL to all":
            os.killpg(started.pid, number)
        for _ in range(1 + how.endswith("twice")):
            started.send_signal(number)
            time.sleep(0.01)

    proxy.fault = holding = Holding(2 * workers, end, fault)
    err = started.communicate(timeout=180)[1]
    assert holding.has_happened
    killed = how.startswith("SIGKILL")
    assert started.returncode == (-signal.SIGKILL if killed else 128 + getattr(signal, how.split()[0]))
    said = "crayon-hf: interrupted; run it again to continue; finished work is kept\n"
    assert err in (("",) if killed else ("", said) if how.endswith("twice") else (said,))
    assert "out/manifest.json" not in bucket.tree_keys()
    if workers == 1 and how in ("SIGINT", "SIGTERM"):  # in order: the task being read has released everything
        assert local_files(tmp_path) == []
    proxy.fault = lambda request: None
    assert subprocess.run(command(inputs, gpt2_like, workers), check=False).returncode == 0
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []


def workers_of_this_process() -> list[int]:
    found = []
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread, or its child, may end meanwhile
            for child in (thread / "children").read_text().split():
                if START.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_a_worker_that_is_killed(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, capfd: pytest.CaptureFixture[str]
) -> None:
    """A worker is killed while it has two tasks, the most that it can have. Another worker begins both again."""
    job(inputs, tmp_path / "whole", gpt2_like)

    def kill() -> None:
        time.sleep(0.5)  # both tasks are read; a third would have begun by now
        os.kill(workers_of_this_process()[0], signal.SIGKILL)

    proxy.fault = Holding(4, kill)
    job(inputs, "s3://bkt/out", gpt2_like, workers=2)
    assert capfd.readouterr().err.count("trying again") == 2
    assert bucket.tree("out") == tree(tmp_path / "whole")


def test_an_interrupt_while_a_store_does_not_answer(
    inputs: Path,
    gpt2_like: Path,
    tmp_path: Path,
    proxy: Proxy,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An interrupt ends the repetition of requests to a store that does not answer, which else takes minutes."""
    monkeypatch.setattr(answers, "_FIRST", 1e6)
    monkeypatch.setattr(answers, "_LONGEST", 1e6)
    job(inputs, tmp_path / "whole", gpt2_like)
    failed = 0

    def fault(request: Request) -> Fault:
        nonlocal failed
        if request.method != "PUT" or ".bin" not in request.target:
            return None
        failed += 1
        if failed == 4:  # the driver's own retries take a while
            os.kill(os.getpid(), signal.SIGINT)
        return UNAVAILABLE

    proxy.fault = fault
    with pytest.raises(KeyboardInterrupt):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert crayon_threads() == []
    assert local_files(tmp_path) == []
    proxy.fault = lambda request: None
    job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []

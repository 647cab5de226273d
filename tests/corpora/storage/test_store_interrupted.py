"""Workers that have two tasks in hand, one whose objects are uploaded and one that is read, when something happens.

Whatever it is, the same command again ends with the bytes of a local run, and nothing else is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import JobError, StoreCredentialsError, tokenize_corpus
from crayon_hf.corpora.job.task_threads import TaskThreads
from crayon_hf.corpora.job.worker import START
from crayon_hf.corpora.storage import answers, lease, store
from crayon_hf.corpora.storage.lease import Lease
from tests.corpora.job.job_cases import corpus, crayon_threads, tree
from tests.corpora.job.test_job import children_of
from tests.corpora.storage import proxy as faults
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import RESET, UNAVAILABLE, Fault, Proxy, Request

TASKS = 6


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, TASKS, 10)
    return directory


def job(inputs: Path, output: Any, tokenizer: Path, **options: Any) -> Any:
    return tokenize_corpus(inputs, output, tokenizer=str(tokenizer), **{"workers": 1, "group_bytes": 1, **options})


def command(inputs: Path, tokenizer: Path, workers: int) -> list[str]:
    said = ["tokenize", inputs, "-o", "s3://bkt/out", "-t", tokenizer, "--group-bytes", "1", "--quiet"]
    return [sys.executable, "-m", "crayon_hf", *map(str, said), "--workers", str(workers)]


def local_files(tmp_path: Path) -> list[str]:
    """What is left on this machine."""
    place = tmp_path / "temporary"
    return [str(path.relative_to(place)) for path in place.rglob("*") if path.name != f"crayon-hf-{os.getuid()}"]


class Holding:
    """Uploads of tokens wait until so many tasks have begun; then something happens, once, and they go on."""

    def __init__(self, tasks: int, happens: Callable[[], None], fault: Fault = None) -> None:
        self._tasks, self._happens, self._fault = tasks, happens, fault
        self._begun: set[str] = set()
        self._lock, self._may_go = threading.Lock(), threading.Event()
        self.has_happened = False

    def __call__(self, request: Request) -> Fault:
        is_lease = request.target.endswith(".lock") and "/0" in request.target
        with self._lock:
            if request.method == "PUT" and is_lease:
                self._begun.add(request.target)
            is_time = len(self._begun) >= self._tasks and not self.has_happened
            self.has_happened |= is_time
        if is_time:
            self._happens()
            self._may_go.set()
        if request.method in ("PUT", "POST") and ".bin" in request.target:
            assert self._may_go.wait(60)
            return self._fault
        return None


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("SIGINT", None),
        ("SIGINT", RESET),
        ("SIGTERM", None),
        ("SIGTERM twice", RESET),
        ("SIGKILL", None),
        ("SIGKILL to all", RESET),
    ],
)
def test_a_job_that_is_ended(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, how: str, workers: int, fault: Fault
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
    err = started.communicate(timeout=60)[1]
    assert holding.has_happened
    killed = how.startswith("SIGKILL")
    assert started.returncode == (-signal.SIGKILL if killed else 128 + getattr(signal, how.split()[0]))
    said = "crayon-hf: interrupted; what is done stays, the same command goes on from there\n"
    assert err in (("",) if killed else ("", said) if how.endswith("twice") else (said,))
    assert "out/manifest.json" not in bucket.tree_keys()
    if workers == 1 and how in ("SIGINT", "SIGTERM"):  # in order: the task that was read has let go of all
        assert local_files(tmp_path) == []
        assert not [key for key in bucket.tree_keys() if "lock" in key]
    proxy.fault = lambda request: None
    assert subprocess.run(command(inputs, gpt2_like, workers), check=False).returncode == 0
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    left = [] if how in ("SIGINT", "SIGTERM") else ["lock"]  # of who had no lease yet, or none any more, for an hour
    assert [name for name in local_files(tmp_path) if name.rpartition(".")[2] not in left] == []


def command_of(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_a_worker_that_is_killed(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, capfd: pytest.CaptureFixture[str]
) -> None:
    """With two tasks in hand: both are begun again, by another one, whom their leases do not keep waiting."""
    job(inputs, tmp_path / "whole", gpt2_like)

    def kill() -> None:
        workers = [child for child in children_of(os.getpid()) if START.encode() in command_of(child)]
        os.kill(workers[0], signal.SIGKILL)

    proxy.fault = Holding(4, kill)
    job(inputs, "s3://bkt/out", gpt2_like, workers=2)
    assert capfd.readouterr().err.count("it is begun again") == 2
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_credentials_expire_as_a_task_is_uploaded(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, workers: int
) -> None:
    """While the next one is read, and can still write."""
    job(inputs, tmp_path / "whole", gpt2_like)
    proxy.fault = holding = Holding(2 * workers, lambda: None, faults.EXPIRED)
    with pytest.raises(StoreCredentialsError, match="renew them, then the same command goes on"):
        job(inputs, "s3://bkt/out", gpt2_like, workers=workers)
    assert holding.has_happened
    assert not [name for name in bucket.tree("out") if not name.startswith("_crayon/")]
    proxy.fault = lambda request: None
    job(inputs, "s3://bkt/out", gpt2_like, workers=workers)
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []


def test_a_callback_that_raises(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket) -> None:
    """As one task is uploaded and another is read: the one is finished, the other given up, no thread stays."""
    job(inputs, tmp_path / "whole", gpt2_like)
    proxy.fault = holding = Holding(2, lambda: None)

    def progress(seen: Any) -> None:
        if holding.has_happened:
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        job(inputs, "s3://bkt/out", gpt2_like, progress=progress)
    assert crayon_threads() == []
    assert local_files(tmp_path) == []
    assert not [name for name in bucket.tree("out") if "lock" in name]
    proxy.fault = lambda request: None
    job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "whole")


@pytest.mark.parametrize("is_gone", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_interrupt_while_a_store_does_not_answer(
    inputs: Path,
    gpt2_like: Path,
    tmp_path: Path,
    proxy: Proxy,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    is_gone: bool,
) -> None:
    """A request is not made again for minutes, when nobody waits for its answer any more. Where the store is gone
    altogether, the leases stay, and keep nobody waiting."""
    monkeypatch.setattr(answers, "_FIRST", 1e6)
    monkeypatch.setattr(answers, "_LONGEST", 1e6)
    job(inputs, tmp_path / "whole", gpt2_like)
    failed = 0

    def fault(request: Request) -> Fault:
        nonlocal failed
        if is_gone and failed >= 4:
            return RESET
        if request.method != "PUT" or ".bin" not in request.target:
            return None
        failed += 1
        if failed == 4:  # the driver's own tries take a while
            os.kill(os.getpid(), signal.SIGINT)
        return UNAVAILABLE

    proxy.fault = fault
    with pytest.raises(KeyboardInterrupt):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert crayon_threads() == []
    assert is_gone or local_files(tmp_path) == []
    proxy.fault = lambda request: None
    job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []


def test_an_interrupt_between_two_parts(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload of many parts is given up, not sent to its end."""
    monkeypatch.setattr(store, "_PART", 512)
    job(inputs, tmp_path / "whole", gpt2_like, group_bytes=1 << 20)
    sent: list[str] = []
    is_stopped, stop = threading.Event(), TaskThreads.stop

    def stopping(self: TaskThreads) -> None:
        self._stop.set()
        is_stopped.set()
        stop(self)

    monkeypatch.setattr(TaskThreads, "stop", stopping)

    def fault(request: Request) -> Fault:
        if "partNumber=" in request.target:
            sent.append(request.target)
            if len(sent) == 1:
                os.kill(os.getpid(), signal.SIGINT)
            assert is_stopped.wait(60)
        return None

    proxy.fault = fault
    with pytest.raises(KeyboardInterrupt):
        job(inputs, "s3://bkt/out", gpt2_like, group_bytes=1 << 20)
    assert len(sent) <= 4  # at once
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []
    proxy.fault = lambda request: None
    job(inputs, "s3://bkt/out", gpt2_like, group_bytes=1 << 20)
    assert bucket.tree("out") == tree(tmp_path / "whole")


def test_an_interrupt_while_another_has_the_lease(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a task, on another machine that says no more: that is known in a minute, and an interrupt does not wait."""
    monkeypatch.setenv("CRAYON_STORE_LEASE", "3600")
    job(inputs, tmp_path / "whole", gpt2_like)
    proxy.fault = lambda request: faults.DENIED if ".bin" in request.target and request.changes else None
    with pytest.raises(JobError, match="6 of 6 tasks not done"):
        job(inputs, "s3://bkt/out", gpt2_like)
    other = Lease(store.store_of("s3://bkt/"), "s3://bkt/out/_crayon/00000.lock", "busy")
    os.unlink(other._file)
    lease._held.discard(other)
    asked = 0

    def fault(request: Request) -> Fault:
        nonlocal asked
        is_asked = request.method == "GET" and request.target.endswith("00000.lock")
        asked += is_asked
        if is_asked and asked == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    proxy.fault = fault
    with pytest.raises(KeyboardInterrupt):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert asked < 6
    assert crayon_threads() == ["crayon-lease"]  # the other one's
    proxy.fault = lambda request: None
    other.release()
    job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "whole")


def test_a_lease_that_is_lost(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one of two tasks in hand, to another process: that task writes nothing more, the others are done."""
    monkeypatch.setattr(Lease, "_beat", lambda self: None)
    job(inputs, tmp_path / "whole", gpt2_like)
    others: list[Lease] = []

    def take_over() -> None:
        sleeper = next(held for held in lease._held if held._path.endswith("00000.lock"))
        os.unlink(sleeper._file)  # as if it were on another machine
        sleeper._seconds = 1.0
        monkeypatch.setenv("CRAYON_STORE_LEASE", "1")
        others.append(Lease(store.store_of("s3://bkt/"), sleeper._path, "busy"))
        lease._held.discard(others[0])  # of another process
        sleeper._alive -= 2

    proxy.fault = Holding(2, take_over)
    with pytest.raises(JobError, match=r"1 of 6 tasks not done: .*another one has taken its work over"):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert '"done":true' not in bucket.get("out/_crayon/00000.json").decode()
    others[0].release()
    job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert local_files(tmp_path) == []

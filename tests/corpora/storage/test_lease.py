"""A lease ends when its holder gives it back, dies on this machine, or is silent for its time on any machine."""

from __future__ import annotations

import json
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

from crayon_hf import JobError, StoreError
from crayon_hf.corpora import storage
from crayon_hf.corpora.storage import answers, lease
from crayon_hf.corpora.storage.lease import Lease
from crayon_hf.corpora.storage.store import Store
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import LOST, RESET, Proxy, Request

PATH = "s3://bkt/out/_crayon/lock"


@pytest.fixture
def store(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("CRAYON_STORE_LEASE", "3")
    found = storage.of(PATH)
    assert isinstance(found, Store)
    return found


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this process is on another machine."""
    monkeypatch.setattr(lease, "_machine", lambda: "another")


def test_one_at_a_time(store: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes it while its holder lives; a moment is enough to see that it does, from another machine as well."""
    first = Lease(store, PATH, "busy")
    elsewhere(monkeypatch)
    began = time.monotonic()
    with pytest.raises(JobError, match="busy"):
        Lease(store, PATH, "busy")
    assert time.monotonic() - began < 2
    first.release()
    first.release()
    assert bucket.tree("out") == {}
    Lease(store, PATH, "busy").release()
    assert bucket.tree("out") == {}


DYING = """
import os, sys, time
from crayon_hf.corpora import storage
storage.of(sys.argv[1]).lease(sys.argv[1], "busy")
print("held", flush=True)
time.sleep(100)
"""


def killed_holder(path: str = PATH) -> None:
    with subprocess.Popen([sys.executable, "-c", DYING, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.kill()


def test_a_holder_that_was_killed(store: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine that is known at once. On another one its time has to pass; then one of several takes it."""
    monkeypatch.setenv("CRAYON_STORE_LEASE", "60")
    killed_holder()
    began = time.monotonic()
    Lease(store, PATH, "busy").release()
    assert time.monotonic() - began < 30
    assert bucket.tree("out") == {}

    monkeypatch.setenv("CRAYON_STORE_LEASE", "2")
    killed_holder()
    elsewhere(monkeypatch)
    held: list[Lease] = []
    refused: list[JobError] = []

    def take() -> None:
        try:
            held.append(Lease(store, PATH, "busy"))
        except JobError as error:
            refused.append(error)

    began = time.monotonic()
    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began > 2
    assert (len(held), len(refused)) == (1, 3)
    held[0].release()
    assert bucket.tree("out") == {}


def test_a_holder_that_was_killed_again_and_again(store: Store, bucket: Bucket) -> None:
    """Those who are gone leave two records, not one each; beats of all of them go."""
    for _ in range(5):
        bucket.put("out/_crayon/lock.0123456789abcdef.beat", b"of another")
        killed_holder()
        chain = [name for name in bucket.tree("out/_crayon") if not name.endswith(".beat")]
        assert len(chain) <= 2
    held = Lease(store, PATH, "busy")
    with pytest.raises(JobError, match="busy"):
        Lease(store, PATH, "busy")
    held.confirm()
    held._renew()
    assert not held._is_lost
    held.release()
    assert list(bucket.tree("out")) == ["_crayon/lock.0123456789abcdef.beat"]


def test_who_does_not_know_whether_it_has_it(
    store: Store, bucket: Bucket, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has done what was asked, and does not answer any more: that keeps nobody waiting on this machine."""
    monkeypatch.setenv("CRAYON_STORE_LEASE", "3600")
    monkeypatch.setattr(answers, "TRIES", 1)
    is_gone = False

    def fault(request: Request) -> Any:
        nonlocal is_gone
        was_gone, is_gone = is_gone, is_gone or request.changes
        return RESET if was_gone else LOST if is_gone else None

    proxy.fault = fault
    with pytest.raises(StoreError):
        Lease(store, PATH, "busy")
    proxy.fault = lambda request: None
    assert list(bucket.tree("out")) == ["_crayon/lock"]
    Lease(store, PATH, "busy").release()
    assert bucket.tree("out") == {}


def test_an_interrupt_as_it_is_given_back(
    store: Store, bucket: Bucket, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes next in this process need not wait until it ends."""
    monkeypatch.setenv("CRAYON_STORE_LEASE", "3600")
    held = Lease(store, PATH, "busy")
    pressed: list[Request] = []

    def fault(request: Request) -> Any:
        if not pressed:
            pressed.append(request)
            os.kill(os.getpid(), signal.SIGINT)
        return RESET

    proxy.fault = fault
    with pytest.raises(KeyboardInterrupt):
        held.release()
    proxy.fault = lambda request: None
    Lease(store, PATH, "busy").release()
    assert bucket.tree("out") == {}


def test_a_holder_that_was_asleep(store: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wakes up when another has its work: it writes nothing more, and takes nothing away."""
    monkeypatch.setattr(Lease, "_beat", lambda self: None)
    sleeper = Lease(store, PATH, "busy")
    store.write("s3://bkt/out/a", b"1")
    os.unlink(sleeper._file)  # as if it were on another machine
    other = Lease(store, PATH, "busy")
    sleeper._alive -= 3  # that is how long it slept
    changes: list[Callable[[], None]] = [
        lambda: store.write("s3://bkt/out/a", b"2"),
        lambda: store.remove(["s3://bkt/out/a"]),
        lambda: store.remove_leftovers("s3://bkt/out"),
    ]
    for change in changes:
        with pytest.raises(StoreError, match="another one has taken its work over: nothing more is written"):
            change()
    sleeper.release()
    assert bucket.get("out/a") == b"1"
    store.write("s3://bkt/out/a", b"3")
    other.release()
    assert bucket.tree("out") == {"a": b"3"}


def test_an_answer_that_is_lost(store: Store, proxy: Proxy, bucket: Bucket) -> None:
    """The object is there, and the request is made again: it is the asker's own, so the lease is."""
    seen: set[str] = set()

    def fault(request: Request) -> Any:
        if request.changes and request.target not in seen:
            seen.add(request.target)
            return LOST
        return None

    proxy.fault = fault
    Lease(store, PATH, "busy").release()
    assert bucket.tree("out") == {}


@pytest.mark.parametrize("condition", ["If-None-Match", "x-ignored"])
def test_a_store_without_conditions(
    store: Store, proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """Where the store ignores the condition, the last one who wrote has the lease, after a while."""
    monkeypatch.setattr(store, "has_conditions", None)
    proxy.dropped = condition.lower()
    try:
        first = Lease(store, PATH, "busy")
        assert store.has_conditions is (condition != "If-None-Match")
        assert json.loads(bucket.get("out/_crayon/lock"))["number"] == first._number
        with pytest.raises(JobError, match="busy"):
            Lease(store, PATH, "busy")
        first.release()
    finally:
        proxy.dropped = ""
    assert bucket.tree("out") == {}


def test_what_it_covers(store: Store, proxy: Proxy) -> None:
    whole, task = Lease(store, PATH, "busy"), Lease(store, "s3://bkt/out/_crayon/00001.lock", "busy")
    cases = {
        "00001.bin": (True, True),
        "00001_00002.bin": (True, True),
        "00002.bin": (True, False),
        "manifest.json": (True, False),
        "_crayon/00001.json": (True, True),
        "_crayon/00002.json": (True, False),
        "_crayon/job.json": (True, False),
        "../other/00001.bin": (False, False),
    }
    for name, expected in cases.items():
        path = os.path.normpath(f"out/{name}")
        assert (whole.covers(f"s3://bkt/{path}"), task.covers(f"s3://bkt/{path}")) == expected, name
    assert not whole.covers(PATH)
    for one in (whole, task):
        one.release()


@pytest.mark.parametrize("given", ["0", "x", "-1", "1e9"])
def test_a_time_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("CRAYON_STORE_LEASE", given)
    with pytest.raises(ValueError, match=r"CRAYON_STORE_LEASE is .*, expected seconds, from 1 to 86400"):
        lease.lease_seconds()


def test_local_paths_have_locks_of_the_system(tmp_path: Path) -> None:
    assert storage.of(str(tmp_path / "x")).lease(str(tmp_path / "x"), "busy") is None


def test_an_upload_that_was_taken_over(
    store: Store, bucket: Bucket, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever takes the work over aborts the upload; it is not begun again."""
    monkeypatch.setattr(Lease, "_beat", lambda self: None)
    monkeypatch.setattr("crayon_hf.corpora.storage.store._PART", 512)
    (tmp_path / "00001.bin").write_bytes(bytes(5000))
    sleeper = Lease(store, PATH, "busy")
    others: list[Lease] = []

    def fault(request: Request) -> None:
        if "partNumber=3" in request.target and not others:
            os.unlink(sleeper._file)
            others.append(Lease(store, PATH, "busy"))
            lease._held.discard(sleeper)  # as if this were another process
            store.remove_leftovers("s3://bkt/out")
            lease._held.add(sleeper)
            sleeper._alive -= 3

    proxy.fault = fault
    with pytest.raises(StoreError, match="nothing more is written here"):
        store.put("s3://bkt/out/00001.bin", str(tmp_path / "00001.bin"))
    assert bucket.unfinished() == []
    assert "00001.bin" not in bucket.tree("out")
    sleeper.release()
    others[0].release()
    assert bucket.tree("out") == {}

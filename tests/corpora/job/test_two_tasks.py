"""A process is disturbed while it has two tasks: the first is being synced to disk, the input of the second is being
read.

In each case, repeating the call gives the files of an undisturbed job.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import JobError
from crayon_hf.corpora.formats.base import ShardWriter
from crayon_hf.corpora.storage import stopping
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import crayon_threads, tree

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.concurrency

ROOT = Path(__file__).parents[3]
no_sigint = pytest.mark.skipif(os.name == "nt", reason="os.kill ends a process there")


job = partial(job_cases.job, group_bytes=1)


def temporary(output: Path) -> list[str]:
    return [name for name in tree(output) if name.endswith("tmp")]


def patch_ending(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> threading.Event:
    """Call `happens` once, while the first task is synced and the second has begun. The returned event is set then.

    An exception of `happens` is an error of the first task.
    """
    finish, has_happened = ShardWriter.finish, threading.Event()

    def late(self: ShardWriter) -> Any:
        if os.path.basename(self.prefix) == "00000" and not has_happened.is_set():
            second = Path(self.prefix).parent / "_crayon" / "00001.json"
            for _ in range(6000):
                if second.exists():
                    break
                stopping.pause(0.01)
            else:
                raise TimeoutError
            has_happened.set()
            happens()
        return finish(self)

    monkeypatch.setattr(ShardWriter, "finish", late)
    return has_happened


def goes_on(inputs: Path, tmp_path: Path, tokenizer: Path, **options: Any) -> None:
    """Make the same call again, and check that it ends with the files of an undisturbed job."""
    assert crayon_threads() == []
    assert temporary(tmp_path / "out") == []
    job(inputs, tmp_path / "out", tokenizer, **options)
    job(inputs, tmp_path / "whole", tokenizer, **options)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "shards": {"max_tokens_per_shard": 300},
    "shuffled": {"shuffle": True, "seed": 3},
    "packed": {"sequence_length": 16, "packing": "best-fit", "remainder": "pad", "pad_token": "!"},
    "two passes": {"deduplicate": True, "held_out": 0.3},
}


@pytest.mark.parametrize("case", CASES)
def test_a_disk_that_is_full(
    inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """The task that is being read is abandoned, and its files are removed."""

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a disk")

    patch_ending(monkeypatch, full)
    options = {**CASES[case], "max_tokens_per_shard": None}  # names of shards identify the task
    with pytest.raises(JobError, match="of 4 tasks not done: a disk: No space left on device"):
        job(inputs, tmp_path / "out", gpt2_like, **options)
    goes_on(inputs, tmp_path, gpt2_like, **options)


def test_an_error_of_any_kind(inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries in Rust raise panics that do not derive from `Exception`: the job must not hang."""

    def fail() -> None:
        raise GeneratorExit("of a library")

    patch_ending(monkeypatch, fail)
    with pytest.raises(JobError, match="1 of 4 tasks not done: GeneratorExit: of a library"):
        job(inputs, tmp_path / "out", gpt2_like)
    goes_on(inputs, tmp_path, gpt2_like)


@no_sigint
def test_an_interrupt_while_an_input_stalls(gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt the job ends without waiting for a reader thread whose input stalls."""
    monkeypatch.setattr("crayon_hf.corpora.job.prefetch._PATIENCE", 0.1)
    answers = threading.Event()

    class Stalls(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, into: Any) -> int:
            os.kill(os.getpid(), signal.SIGINT)
            answers.wait()
            return 0

    class Network(fsspec.AbstractFileSystem):  # type: ignore[misc,name-defined,unused-ignore]
        protocol = "stalls"

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": 100, "type": "file"}

        def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
            return Stalls() if threading.current_thread().name == "crayon-reading" else io.BytesIO(b"{}\n")

    fsspec.register_implementation("stalls", Network, clobber=True)
    try:
        with pytest.raises(KeyboardInterrupt):
            job("stalls://0.jsonl", tmp_path / "out", gpt2_like)
        assert temporary(tmp_path / "out") == []
        assert set(crayon_threads()) == {"crayon-reading"}
    finally:
        answers.set()


@pytest.mark.parametrize(("case", "format"), [*((case, "megatron") for case in CASES), ("two passes", "mds")])
def test_a_store_in_memory(inputs: Path, gpt2_like: Path, tmp_path: Path, case: str, format: str) -> None:
    """The output is an in-memory store, whose driver two tasks use at once."""
    memory = fsspec.filesystem("memory")
    job(inputs, tmp_path / "out", gpt2_like, format, **CASES[case])
    try:
        job(inputs, "memory://two-tasks/out", gpt2_like, format, workers=3, **CASES[case])
        found = {name.removeprefix("/two-tasks/out/"): memory.cat_file(name) for name in memory.find("/two-tasks")}
    finally:
        memory.rm("/two-tasks", recursive=True)
    assert found == tree(tmp_path / "out")
    assert crayon_threads() == []

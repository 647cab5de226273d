"""`tokenize_corpus` writes to S3: real clients, a server in its own process, and a proxy that makes faults between
them.

With any faults, the store's objects are the files of a local run, and no other objects are left.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import JobError, StoreCredentialsError, StoreError
from crayon_hf.corpora.storage import store
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import corpus, tree
from tests.corpora.storage import proxy as faults
from tests.corpora.storage.conftest import Bucket, local_files
from tests.corpora.storage.proxy import LOST, RESET, Fault, Proxy, Request


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, 2, 20)
    with open(directory / "1.jsonl", "ab") as file:
        file.write(b"{oops\n")
    return directory


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PART", 512)


def job(inputs: Path, output: Any, tokenizer: Path, format: str = "megatron", **options: Any) -> Any:
    values = {"group_bytes": 3000, "batch_bytes": 900, "bad_records": "skip", **options}
    return job_cases.job(inputs, output, tokenizer, format, **values)


@pytest.mark.parametrize("format", ["mds", "megatron", "parquet"])
def test_the_bytes_of_a_local_run(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, format: str
) -> None:
    sequences = {"sequence_length": 64, "packing": "best-fit", "remainder": "pad", "pad_token": "!"}
    packed: dict[str, Any] = {**sequences, "deduplicate": True, "held_out": 0.2}
    shuffled = {"max_tokens_per_shard": 400, "shuffle": True, "seed": 3}
    for number, more in enumerate(({}, shuffled, packed, {**shuffled, **packed, "packing": "concat"})):
        local = job(inputs, tmp_path / str(number), gpt2_like, format, **more)
        summary = job(inputs, f"s3://bkt/{number}/", gpt2_like, format, **more)
        assert bucket.tree(str(number)) == tree(tmp_path / str(number))
        assert summary.counts == local.counts
        assert summary.output_bytes == local.output_bytes
        assert any("partNumber=2" in request.target for request in proxy.requests)
        assert bucket.unfinished() == []
        assert local_files(tmp_path) == []
        proxy.requests.clear()
        assert job(inputs, f"s3://bkt/{number}", gpt2_like, format, **more).already_done
        assert not any(request.changes for request in proxy.requests)


def test_what_is_refused(inputs: Path, gpt2_like: Path, proxy: Proxy, bucket: Bucket) -> None:
    bucket.put("out/notes.txt", b"mine")
    for overwrite in (False, True):
        with pytest.raises(JobError, match=r"s3://bkt/out has files of other programs \(notes\.txt\)"):
            job(inputs, "s3://bkt/out", gpt2_like, overwrite=overwrite)
    bucket.delete("out/notes.txt")
    job(inputs, "s3://bkt/out", gpt2_like)
    was = bucket.tree("out")
    with pytest.raises(JobError, match='format was "megatron", is "mds"'):
        job(inputs, "s3://bkt/out", gpt2_like, "mds")
    assert bucket.tree("out") == was
    job(inputs, "s3://bkt/out", gpt2_like, "mds", overwrite=True)
    job(inputs, "s3://bkt/fresh", gpt2_like, "mds")
    assert bucket.tree("out") == bucket.tree("fresh")
    job(inputs, "s3://bkt/out", gpt2_like, overwrite=True)
    assert bucket.tree("out") == was
    bucket.delete("out/00001.bin")
    with pytest.raises(JobError, match="s3://bkt/out/00001 was finished, but is missing or has changed"):
        job(inputs, "s3://bkt/out", gpt2_like)
    with pytest.raises(StoreError, match="bucket or container not found"):
        job(inputs, "s3://nowhere/out", gpt2_like)
    with pytest.raises(ValueError, match="chained addresses are not writable"):
        job(inputs, "simplecache::s3://bkt/out", gpt2_like)


# -- faults


def every(nth: int, fault: Fault) -> Callable[[Request], Fault]:
    return lambda request: fault if request.number % nth == 0 else None


def once_each(fault: Fault) -> Callable[[Request], Fault]:
    """The fault for the first request of each change to the store."""
    seen: set[tuple[str, str]] = set()

    def of(request: Request) -> Fault:
        what = request.method, request.target.split("uploadId")[0]
        if not request.changes or what in seen:
            return None
        seen.add(what)
        return fault

    return of


FAULTS: dict[str, Callable[[], Callable[[Request], Fault]]] = {
    "unavailable": lambda: every(9, faults.UNAVAILABLE),
    "slow down": lambda: every(9, faults.SLOW_DOWN),
    "internal": lambda: every(9, faults.INTERNAL),
    "reset": lambda: every(3, RESET),
    "lost": lambda: every(3, LOST),
    "each change is lost once": lambda: once_each(LOST),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_faults(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, name: str) -> None:
    format = "mds" if len(name) % 2 else "megatron"
    job(inputs, tmp_path / "out", gpt2_like, format, max_tokens_per_shard=900)
    proxy.fault = FAULTS[name]()
    job(inputs, "s3://bkt/out", gpt2_like, format, max_tokens_per_shard=900)
    assert bucket.tree("out") == tree(tmp_path / "out")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_credentials_that_expire(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, workers: int
) -> None:
    job(inputs, tmp_path / "out", gpt2_like, max_tokens_per_shard=900)

    def fault(request: Request) -> Fault:
        """Refuse all changes from the second index file on, which the job's state does not list yet."""
        earlier = proxy.requests[: request.number]
        indexes = {one.target for one in earlier if one.method == "PUT" and one.target.endswith(".idx")}
        return faults.EXPIRED if request.changes and len(indexes) > 1 else None

    proxy.fault = fault
    with pytest.raises(StoreCredentialsError, match=r"\(PermissionError: .*\): renew them, then run it again"):
        job(inputs, "s3://bkt/out", gpt2_like, max_tokens_per_shard=900, workers=workers)
    some = bucket.tree("out")
    assert "manifest.json" not in some
    assert sum(name.endswith(".idx") for name in some) == 1
    states = [json.loads(data) for name, data in some.items() if re.fullmatch(r"_crayon/\d+\.json", name)]
    done = {shard["name"] for state in states for shard in state["shards"]}
    proxy.fault = lambda request: None
    proxy.requests.clear()
    summary = job(inputs, "s3://bkt/out", gpt2_like, max_tokens_per_shard=900, workers=workers)
    assert summary.counts.tokens >= summary.tokenized.tokens > 0
    written = {one.target for one in proxy.requests if one.method == "PUT"}
    assert not [name for name in done if any(f"/{name}." in target for target in written)]
    assert bucket.tree("out") == tree(tmp_path / "out")
    assert bucket.unfinished() == []


def test_a_store_that_refuses(inputs: Path, gpt2_like: Path, proxy: Proxy, bucket: Bucket) -> None:
    proxy.fault = lambda request: faults.DENIED if request.changes else None
    with pytest.raises(StoreError, match="the store refuses: PermissionError"):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert len(proxy.requests) < 45  # expired credentials are not retried
    assert bucket.tree("out") == {}


@pytest.mark.slow
@pytest.mark.parametrize("has_conditions", [True, False])
def test_two_commands_at_once(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, has_conditions: bool
) -> None:
    """Two equal commands at once both succeed, and leave the objects of a single one, even on a store that ignores
    If-None-Match."""
    job(inputs, tmp_path / "whole", gpt2_like, max_tokens_per_shard=2000)
    command = [sys.executable, "-m", "crayon_hf", "tokenize", str(inputs), "-o", "s3://bkt/out", "-t", str(gpt2_like),
               "--group-bytes", "3000", "--max-tokens-per-shard", "2000", "--bad-records", "skip",
               "--quiet"]  # fmt: skip
    proxy.fault = lambda request: time.sleep(0.02)
    proxy.dropped = "" if has_conditions else "if-none-match"
    pipe = subprocess.PIPE
    started = [subprocess.Popen([*command, "--workers", workers], stderr=pipe, text=True) for workers in "12"]
    said = [process.communicate()[1] for process in started]
    proxy.dropped = ""
    assert [process.returncode for process in started] == [0, 0], said
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []

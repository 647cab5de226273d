"""`tokenize_corpus` to S3: real clients, a server in a process of its own, faults between them. Whatever happens on the
way, the objects are the files of a local run, and nothing else is left."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import BadRecordError, JobError, StoreCredentialsError, StoreError, tokenize_corpus, tokenize_shard
from crayon_hf.corpora.storage import answers, store
from tests.corpora.job.job_cases import ALL_FORMATS, corpus, tokens, tree
from tests.corpora.storage import proxy as faults
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import LOST, NOTHING, RESET, Fault, Proxy, Request


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
    values = {"workers": 1, "group_bytes": 3000, "batch_bytes": 900, "bad_records": "skip", **options}
    return tokenize_corpus(inputs, output, format, tokenizer=str(tokenizer), **values)


def local_files(tmp_path: Path) -> list[str]:
    """What is left on this machine."""
    place = tmp_path / "temporary"
    return [str(path.relative_to(place)) for path in place.rglob("*") if path.name != f"crayon-hf-{os.getuid()}"]


@pytest.mark.parametrize(
    "format", ["mds", *(pytest.param(name, marks=pytest.mark.slow) for name in ALL_FORMATS if name != "mds")]
)
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


def test_workers(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket) -> None:
    job(inputs, tmp_path / "out", gpt2_like)
    job(inputs, "s3://bkt/deep/er/out", gpt2_like, workers=2)
    assert bucket.tree("deep/er/out") == tree(tmp_path / "out")
    assert local_files(tmp_path) == []


def test_one_shard(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket) -> None:
    how: dict[str, Any] = {"tokenizer": str(gpt2_like), "max_tokens_per_shard": 500, "bad_records": "replace"}
    here = tokenize_shard(inputs, tmp_path / "out" / "00007", "npy", **how)
    summary = tokenize_shard(inputs, "s3://bkt/out/00007", "npy", **how)
    assert summary.shards == here.shards
    assert summary.bad_records_file == "s3://bkt/out/_crayon/00007.bad-records.jsonl"
    assert bucket.tree("out") == tree(tmp_path / "out")
    assert tokens(tmp_path / "out").items() <= bucket.tree("out").items()
    assert tokenize_shard(inputs, "s3://bkt/out/00007", "npy", **how) == summary


def test_what_a_lease_left(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket) -> None:
    """Of a job that is done, and was killed as it gave back a lease that it had taken over: nothing leads to it."""
    job(inputs, "s3://bkt/out", gpt2_like)
    expected = bucket.tree("out")
    for name in ("lock.0123456789abcdef", "lock.0123456789abcdef.beat", "00001.lock.0123456789abcdef"):
        bucket.put(f"out/_crayon/{name}", b"{}")
        assert job(inputs, "s3://bkt/out", gpt2_like).already_done
        assert bucket.tree("out") == expected
    bucket.put("out/_crayon/notes.txt", b"of somebody")
    proxy.requests.clear()
    assert job(inputs, "s3://bkt/out", gpt2_like).already_done
    assert not any(request.changes for request in proxy.requests)


def test_what_is_refused(inputs: Path, gpt2_like: Path, proxy: Proxy, bucket: Bucket) -> None:
    bucket.put("out/notes.txt", b"mine")
    for overwrite in (False, True):
        with pytest.raises(JobError, match=r"s3://bkt/out has files of others \(notes\.txt\)"):
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
    with pytest.raises(JobError, match="s3://bkt/out/00001 was done, and is gone or has changed"):
        job(inputs, "s3://bkt/out", gpt2_like)
    with pytest.raises(StoreError, match="there is no such bucket"):
        job(inputs, "s3://nowhere/out", gpt2_like)
    with pytest.raises(ValueError, match="an address in an address"):
        job(inputs, "simplecache::s3://bkt/out", gpt2_like)


def test_a_file_of_others_that_no_listing_shows(inputs: Path, gpt2_like: Path, proxy: Proxy, bucket: Bucket) -> None:
    bucket.put("out/00000.bin", b"mine")
    proxy.fault = lambda request: NOTHING if request.lists else None
    with pytest.raises(JobError, match=r"s3://bkt/out/00000\.bin is there, and nothing says that it is ours"):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.get("out/00000.bin") == b"mine"


# -- faults


def every(nth: int, fault: Fault) -> Callable[[Request], Fault]:
    return lambda request: fault if request.number % nth == 0 else None


def once_each(fault: Fault) -> Callable[[Request], Fault]:
    """Each change the first time that it is asked for."""
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
    "no listing": lambda: lambda request: NOTHING if request.lists else None,
}


@pytest.mark.slow
@pytest.mark.parametrize("format", ["megatron", "mds"])
@pytest.mark.parametrize("name", FAULTS)
def test_faults(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, name: str, format: str
) -> None:
    job(inputs, tmp_path / "out", gpt2_like, format, max_tokens_per_shard=900)
    proxy.fault = FAULTS[name]()
    job(inputs, "s3://bkt/out", gpt2_like, format, max_tokens_per_shard=900)
    assert bucket.tree("out") == tree(tmp_path / "out")
    assert bucket.unfinished() == []
    assert local_files(tmp_path) == []


@pytest.mark.slow
def test_a_listing_that_lags(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket) -> None:
    """All listings are those of another job, of which nothing is there any more, through the whole of the next one."""
    job(inputs, "s3://bkt/out", gpt2_like, "npy", max_tokens_per_shard=900)
    old = bucket.client.list_objects_v2(Bucket="bkt", Prefix="out/")["Contents"]
    entries = "".join(
        f"<Contents><Key>{entry['Key']}</Key><Size>{entry['Size']}</Size><ETag>&quot;x&quot;</ETag>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for entry in old
    )
    listing = NOTHING[1].replace("<IsTruncated>", f"{entries}<IsTruncated>").replace(
        "<KeyCount>0", f"<KeyCount>{len(old)}"
    )  # fmt: skip
    bucket.clear()
    proxy.fault = lambda request: (200, listing) if request.lists else None
    job(inputs, tmp_path / "out", gpt2_like)
    job(inputs, "s3://bkt/out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "out")


@pytest.mark.parametrize("workers", [1, 2])
def test_credentials_that_expire(
    inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, workers: int
) -> None:
    job(inputs, tmp_path / "out", gpt2_like, max_tokens_per_shard=900)

    def fault(request: Request) -> Fault:
        """From the second index on, which no state speaks of then."""
        indexes = {one.target for one in proxy.requests if one.method == "PUT" and one.target.endswith(".idx")}
        return faults.EXPIRED if request.changes and len(indexes) > 1 else None

    proxy.fault = fault
    with pytest.raises(StoreCredentialsError, match=r"\(PermissionError: .*\): renew them, then the same"):
        job(inputs, "s3://bkt/out", gpt2_like, max_tokens_per_shard=900, workers=workers)
    some = bucket.tree("out")
    assert "manifest.json" not in some
    assert any(name.endswith(".idx") for name in some)
    assert not any(name.startswith("00001_00001") for name in some)
    proxy.fault = lambda request: None
    proxy.requests.clear()
    summary = job(inputs, "s3://bkt/out", gpt2_like, max_tokens_per_shard=900, workers=workers)
    assert summary.counts.tokens >= summary.tokenized.tokens > 0
    assert workers > 1 or summary.counts.tokens > summary.tokenized.tokens
    assert bucket.tree("out") == tree(tmp_path / "out")
    assert bucket.unfinished() == []


def test_a_store_that_refuses(inputs: Path, gpt2_like: Path, proxy: Proxy, bucket: Bucket) -> None:
    proxy.fault = lambda request: faults.DENIED if request.changes else None
    with pytest.raises(StoreError, match="the store refuses: PermissionError"):
        job(inputs, "s3://bkt/out", gpt2_like)
    assert len(proxy.requests) < 40  # that is no reason to ask again
    assert bucket.tree("out") == {}


@pytest.mark.slow
def test_a_store_that_never_answers(
    inputs: Path, gpt2_like: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "TRIES", 2)
    proxy.fault = lambda request: RESET
    with pytest.raises(StoreError, match=r"2 tries in \d+ s failed, .*the same command goes on"):
        job(inputs, "s3://bkt/out", gpt2_like)


def test_a_bad_record(inputs: Path, gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket) -> None:
    """The job ends, and goes on when it is told to leave such records out."""
    with pytest.raises(BadRecordError):
        job(inputs, "s3://bkt/out", gpt2_like, bad_records="stop")
    assert "manifest.json" not in bucket.tree("out")
    job(inputs, "s3://bkt/out", gpt2_like)
    job(inputs, tmp_path / "out", gpt2_like)
    assert bucket.tree("out") == tree(tmp_path / "out")

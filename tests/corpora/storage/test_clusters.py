"""Jobs of several nodes that have a store in common and no disk: each has a working directory, a temporary directory
and a cache of its own. The engines are the real ones; Spark's job writes columns, not files of ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import tokenize_corpus
from crayon_hf.corpora.job.shard import tokenize_shard
from tests.corpora.job.job_cases import corpus, tree
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import Proxy, Request

pytestmark = pytest.mark.slow


def node(tmp_path: Path, name: str) -> tuple[Path, dict[str, str]]:
    """The working directory of a node, and its environment."""
    for part in ("", "temporary", "cache"):
        (tmp_path / name / part).mkdir(exist_ok=True)
    own = {"TMPDIR": str(tmp_path / name / "temporary"), "CRAYON_CACHE_DIR": str(tmp_path / name / "cache")}
    found = os.pathsep.join(path for path in sys.path if path)
    return tmp_path / name, {**os.environ, **own, "PYTHONPATH": found, "HOME": str(tmp_path / name)}


def upload(bucket: Bucket, directory: Path, prefix: str) -> None:
    for name, data in tree(directory).items():
        bucket.put(f"{prefix}/{name}", data)


DATATROVE = """
import sys
from crayon_hf.corpora.datatrove import TokenizeShards
step = TokenizeShards("s3://bkt/in", "s3://bkt/out", "tokenizer.json", "megatron", glob_pattern="*.jsonl")
step.run(None, int(sys.argv[1]), 2)
"""


def test_two_nodes_of_datatrove(
    gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node is killed in the middle of its task; the other one, which shares no disk with it, does that task, too."""
    pytest.importorskip("datatrove")
    monkeypatch.setenv("CRAYON_STORE_LEASE", "3")
    corpus(tmp_path / "in", 4, 30)
    upload(bucket, tmp_path / "in", "in")
    nodes = [node(tmp_path, name) for name in ("one", "two")]
    for place, _ in nodes:
        shutil.copy(gpt2_like, place / "tokenizer.json")
    expected = {}
    for rank in range(2):
        inputs = [str(tmp_path / "in" / f"{number}.jsonl") for number in range(rank, 4, 2)]
        tokenize_shard(inputs, tmp_path / "whole" / f"{rank:05d}", "megatron", tokenizer=str(gpt2_like))
    expected = {name: data for name, data in tree(tmp_path / "whole").items() if "_crayon" not in name}

    def start(number: int, rank: int) -> subprocess.Popen[bytes]:
        place, environment = nodes[number]
        return subprocess.Popen([sys.executable, "-c", DATATROVE, str(rank)], cwd=place, env=environment)

    first = start(0, 0)

    def kill(request: Request) -> None:
        if request.method == "PUT" and "00000.bin" in request.target:
            first.kill()

    proxy.fault = kill
    assert first.wait() == -signal.SIGKILL
    proxy.fault = lambda request: None
    shutil.rmtree(nodes[0][0])  # the node is gone, with all that it had
    for rank in range(2):
        assert start(1, rank).wait() == 0
    found = {name: data for name, data in bucket.tree("out").items() if not name.startswith("_crayon")}
    assert found == expected
    assert bucket.unfinished() == []
    assert not [name for name in bucket.tree("out") if "lock" in name]
    assert list((nodes[1][0] / "temporary").rglob("*.crayon-tmp")) == []


@pytest.fixture
def ray_nodes(tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("ray")
    monkeypatch.delenv("TMPDIR")  # the names of Ray's sockets are in it, and may not be long
    monkeypatch.setattr("tempfile.tempdir", None)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80 << 20, "memory": 1 << 30}
    cluster = Cluster()
    quick = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    kept = ("TMPDIR", "CRAYON_", "PYTHONPATH", "AWS_")
    try:
        for number, name in enumerate(("one", "two")):
            environment = node(tmp_path, name)[1]
            own = {key: value for key, value in environment.items() if key.startswith(kept)}
            more = {"include_dashboard": False, "_system_config": quick} if number == 0 else {}
            cluster.add_node(**small, env_vars=own, **more)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        cluster.wait_for_nodes()
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_ray(
    ray_nodes: Any,
    gpt2_like: Path,
    tmp_path: Path,
    proxy: Proxy,
    bucket: Bucket,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A worker is killed while it uploads; its task begins again, where its lease is not in the way."""
    from crayon_hf.corpora.ray_corpus import tokenize_corpus_on_ray

    corpus(tmp_path / "in", 6, 30)
    upload(bucket, tmp_path / "in", "in")
    how: dict[str, Any] = {"format": "datatrove", "tokenizer": str(gpt2_like), "group_bytes": 1}
    tokenize_corpus("s3://bkt/in", tmp_path / "whole", workers=1, **how)
    killed: list[int] = []

    def kill(request: Request) -> None:
        if request.method == "PUT" and request.target.startswith("/bkt/out/00002.ds") and not killed:
            found = subprocess.run(
                ["pgrep", "-f", "tokenize 00002"], capture_output=True, text=True, check=False
            ).stdout
            for pid in map(int, found.split()):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    proxy.fault = kill
    tokenize_corpus_on_ray("s3://bkt/in", "s3://bkt/out", **how)
    assert killed
    assert "it is begun again" in capfd.readouterr().err
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []


def test_two_commands_at_once(
    gpt2_like: Path, tmp_path: Path, proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From two nodes: one does the job, the other is refused, and later finds it done."""
    monkeypatch.setenv("CRAYON_STORE_LEASE", "3")
    corpus(tmp_path / "in", 4, 60)
    upload(bucket, tmp_path / "in", "in")
    tokenize_corpus("s3://bkt/in", tmp_path / "whole", "npy", tokenizer=str(gpt2_like), workers=1, group_bytes=1)
    command = [sys.executable, "-m", "crayon_hf", "tokenize", "s3://bkt/in", "-o", "s3://bkt/out", "-t", str(gpt2_like),
               "--format", "npy", "--group-bytes", "1", "--workers", "1", "--quiet"]  # fmt: skip
    proxy.fault = lambda request: time.sleep(0.05)
    started = []
    for name in ("one", "two"):
        place, environment = node(tmp_path, name)
        started.append(subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True))
    said = [process.communicate()[1] for process in started]
    codes = sorted(process.returncode for process in started)
    assert codes in ([0, 1], [0, 0])  # the second one may have come when the first was done
    assert codes == [0, 0] or "is being written by another process" in "".join(said)
    assert bucket.tree("out") == tree(tmp_path / "whole")
    place, environment = node(tmp_path, "three")
    assert subprocess.run(command, cwd=place, env=environment, check=False).returncode == 0
    assert bucket.tree("out") == tree(tmp_path / "whole")

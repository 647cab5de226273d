"""A real Slurm, whose task writes to a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpora.job.job_cases import corpus, tree
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import Proxy
from tests.corpora.test_slurm import slurm, wait_for  # noqa: F401 - skips this module where Slurm cannot be

from datatrove.executor import SlurmPipelineExecutor  # isort: skip
from crayon_hf.corpora.datatrove import TokenizeShards  # isort: skip


@pytest.mark.slow
@pytest.mark.usefixtures("slurm")
def test_slurm(proxy: Proxy, bucket: Bucket, gpt2_like: Path, tmp_path: Path) -> None:
    """Two tasks of an array job, each with its share of the files."""
    corpus(tmp_path / "in", 3, 30)
    for name, data in tree(tmp_path / "in").items():
        bucket.put(f"in/{name}", data)
    SlurmPipelineExecutor(
        [TokenizeShards("s3://bkt/in", "s3://bkt/out", str(gpt2_like), "mds", glob_pattern="*.jsonl")],
        tasks=2,
        time="00:05:00",
        partition="all",
        mem_per_cpu_gb=1,
        qos=None,
        logging_dir=str(tmp_path / "logs"),
    ).run()
    wait_for(tmp_path / "logs" / "stats.json", tmp_path / "logs")
    for rank in range(2):
        inputs = str(tmp_path / "in")
        TokenizeShards(inputs, str(tmp_path / "here"), str(gpt2_like), "mds", glob_pattern="*.jsonl").run(None, rank, 2)
    expected = {name: data for name, data in tree(tmp_path / "here").items() if not name.startswith("_crayon")}
    assert len(expected) == 4
    assert {name: data for name, data in bucket.tree("out").items() if not name.startswith("_crayon")} == expected
    assert bucket.unfinished() == []

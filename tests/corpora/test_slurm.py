"""A real Slurm with one node, this machine: its daemons are started here, with files of their own.

Debian's packages: slurmctld, slurmd, slurm-client, munge. Only root can start a slurmd.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("datatrove")

import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.executor import SlurmPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.tokens import DocumentTokenizer

from crayon_hf.corpora.datatrove import CrayonDocumentTokenizer, TokenizeShards
from tests.support.libraries import lacking

pytestmark = pytest.mark.slow

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
if not all(map(shutil.which, NEEDED)):
    lacking("Slurm is not installed", allow_module_level=True)
if os.geteuid() != 0:
    pytest.skip("slurmd has to be started by root", allow_module_level=True)

EOS = "<|endoftext|>"
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "clusters.md"

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    place = tmp_path / "slurm"
    for directory in (place, place / "state", place / "spool"):
        directory.mkdir(mode=0o755)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    host = socket.gethostname().partition(".")[0]
    (place / "slurm.conf").write_text(CONF.format(host=host, ports=ports, place=place))
    key = place / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    monkeypatch.setenv("SLURM_CONF", str(place / "slurm.conf"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    files = [
        f"--{name}={place}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    try:
        subprocess.run(["munged", "--force", f"--key-file={key}", *files], check=True)
        subprocess.run(["slurmctld"], check=True)
        subprocess.run(["slurmd", "-N", host], check=True)
        yield
        deadline = time.monotonic() + 30  # a step whose daemon is gone would stay for ever
        while subprocess.run(["squeue", "-h"], capture_output=True, check=True).stdout:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        for name in ("slurmd", "slurmctld", "munge"):
            pid = place / f"{name}.pid"
            if pid.exists():
                subprocess.run(["kill", pid.read_text().strip()], check=False)


def wait_for(path: Path, logs: Path) -> None:
    deadline = time.monotonic() + 100
    while not path.exists():
        said = "".join(file.read_text() for file in logs.rglob("*.out"))
        assert "Error" not in said, said
        assert time.monotonic() < deadline, said
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("slurm")
def test_slurm(gpt2_like: Path, training_text: list[str], tmp_path: Path) -> None:
    """Two tasks of an array job, each with both steps."""
    rows = tmp_path / "in"
    rows.mkdir()
    for number in range(3):
        texts = training_text[number * 30 : number * 40 + 30]
        pq.write_table(pa.table({"text": texts, "id": list(map(str, range(len(texts))))}), rows / f"{number}.parquet")

    step = CrayonDocumentTokenizer(str(tmp_path / "ours"), str(gpt2_like), eos_token=EOS, seed=3)
    whole = TokenizeShards(str(rows), str(tmp_path / "whole"), str(gpt2_like), "megatron")
    executor = SlurmPipelineExecutor(
        [whole, ParquetReader(str(rows)), step],
        tasks=2,
        time="00:05:00",
        partition="all",
        mem_per_cpu_gb=1,
        qos=None,
        logging_dir=str(tmp_path / "logs"),
    )
    executor.run()
    wait_for(tmp_path / "logs" / "stats.json", tmp_path / "logs")
    for rank in range(2):
        theirs = DocumentTokenizer(str(tmp_path / "theirs"), str(gpt2_like), eos_token=EOS, seed=3)
        theirs.run(ParquetReader(str(rows)).run(None, rank, 2), rank, 2)
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert len(names) == 6
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == names
    for name in names:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    stats = json.loads((tmp_path / "logs" / "stats.json").read_text())
    assert stats[0]["stats"]["documents"]["total"] == 30 + 40 + 50
    assert {path.name for path in (tmp_path / "whole").glob("*.*")} == {
        f"0000{i}.{end}" for i in (0, 1) for end in ("bin", "idx")
    }


SMALL = {
    "--cpus-per-task=32": "--cpus-per-task=2",
    "--cpus-per-task=4": "--cpus-per-task=1",
    "--array=0-99": "--array=0-1",
    "tasks=500": "tasks=2",
    'partition="cpu"': 'partition="all", mem_per_cpu_gb=1, qos=None',
}
"""What the documentation asks of a cluster, and what this one has."""


@pytest.mark.slow
@pytest.mark.usefixtures("slurm")
def test_documentation(training_text: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands and scripts of its section on Slurm."""
    section = DOCUMENTATION.read_text(encoding="utf-8").partition("\n## Slurm\n")[2].partition("\n## ")[0]
    for there, here in SMALL.items():
        assert section.count(there) == 1
        section = section.replace(there, here)
    blocks = re.findall(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    script, submit, shard, submit_array, executor = blocks
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SBATCH_WAIT", "1")
    Path("filtered").mkdir()
    for number in range(3):
        table = pa.table({"text": training_text[number : number + 20], "id": list(map(str, range(20)))})
        pq.write_table(table, f"filtered/{number}.parquet")
    Path("tokens.sbatch").write_text(script)
    Path("shard.py").write_text(shard)
    for command in (submit, submit_array):
        subprocess.run(["bash", "-ec", command], check=True)
    exec(executor, {})
    made = json.loads(Path("tokens", "manifest.json").read_text())
    assert made["counts"]["documents"] == 60
    whole = sum(path.stat().st_size for path in Path("tokens").glob("*.bin"))
    assert sum(path.stat().st_size for path in Path("tokens-array").glob("0000[01].bin")) == whole > 0
    assert sum(path.stat().st_size for path in Path("tokens-trove").glob("0000[01].ds")) == whole

"""The scripts in the Slurm section of docs/clusters.md, in Slurm's environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "clusters.md"


def test_documentation(training_text: list[str], tmp_path: Path) -> None:
    """The documented scripts run as a job on one node, and as an array of two tasks."""
    section = DOCUMENTATION.read_text(encoding="utf-8").partition("\n## Slurm\n")[2].partition("\n## ")[0]
    script, _, shard, *_ = re.findall(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (tmp_path / "filtered").mkdir()
    for number in range(3):
        table = pa.table({"text": training_text[number : number + 20]})
        pq.write_table(table, tmp_path / "filtered" / f"{number}.parquet")
    command = f'crayon-hf() {{ {sys.executable} -m crayon_hf "$@"; }}\n'  # the console script has another interpreter
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run(["bash", "-ec", command + script], cwd=tmp_path, env=here, check=True)
    for task in "01":
        array = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2"}
        subprocess.run([sys.executable, "-c", shard], cwd=tmp_path, env={**here, **array}, check=True)
    assert json.loads((tmp_path / "tokens" / "manifest.json").read_text())["counts"]["documents"] == 60
    whole = sum(path.stat().st_size for path in (tmp_path / "tokens").glob("*.bin"))
    assert sum(path.stat().st_size for path in (tmp_path / "tokens-array").glob("0000[01].bin")) == whole > 0

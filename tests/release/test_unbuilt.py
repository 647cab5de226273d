"""An unbuilt checkout says in one line which command to run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "leftover", ["", "_core.cpython-39-x86_64-linux-gnu.so"], ids=["never built", "another Python"]
)
def test_an_unbuilt_checkout_says_what_to_run(tmp_path: Path, leftover: str) -> None:
    shutil.copytree(ROOT / "crayon_hf", tmp_path / "crayon_hf", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    if leftover:
        (tmp_path / "crayon_hf" / leftover).write_bytes(b"")
    # -S, as in an environment without packages
    command = [sys.executable, "-S", "-c", "import crayon_hf; crayon_hf.Tokenizer"]
    ended = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True)
    assert ended.returncode == 1
    said = ended.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: {tmp_path / 'crayon_hf'} is a source tree that is not compiled")
    assert "run `python -m pip install -e .`" in said

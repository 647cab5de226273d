"""Runs the fuzz targets on every input in the repository and, for the engine, on some thousand new inputs.

Engine targets run under Clang's sanitizers. New inputs depend only on the seed and the code, so each run is the same;
``run.py`` is for long runs. Without Clang the engine's test is skipped, unless CRAYON_FUZZ_CXX names a compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.build import build, compiler
from tests.fuzz.edge import drive
from tests.fuzz.run import BUILD_DIR, ROOT, TARGETS, Target, fuzz

RUNS = {
    "cartridge": 1000,
    "cartridge_v2": 5000,
    "columns": 2000,
    "compiler": 200,
    "decode": 1000,
    "encode": 300,
    "lies": 150,
    "parsers": 1500,
}
"""The number of new inputs for each engine target. (`kernels` takes long to compile: tests/gpu runs it.)"""


@pytest.mark.slow
def test_engine(tmp_path: Path) -> None:
    """All engine targets are in one test, since they share a build."""
    if compiler() is None:
        assert "CRAYON_FUZZ_CXX" not in os.environ, "CRAYON_FUZZ_CXX names no Clang with libFuzzer"
        pytest.skip("Clang with libFuzzer is not installed")
    directory = BUILD_DIR / "quick"
    build(list(RUNS), directory, os.cpu_count() or 1, is_quick=True)
    for name, runs in RUNS.items():
        target = Target("engine", name)
        result = fuzz(directory, tmp_path / name, target, runs=runs)
        assert not result.failure, f"{name}: {result.failure}"
        assert result.executions >= runs + len(target.inputs()), name


@pytest.mark.parametrize("target", [target for target in TARGETS if target.kind == "edge"], ids=lambda each: each.name)
def test_edge(target: Target) -> None:
    one_input, _ = drive.target(target.name)
    for path in target.inputs():
        one_input(path.read_bytes())


@pytest.mark.slow
def test_under_atheris(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in (*sys.path, str(ROOT)) if path)}
    command = [sys.executable, "-P", "-m", "tests.fuzz.edge.drive", "read_gguf", "-runs=100", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done 100 runs" in done.stderr

"""tools/sanitize.py: the Python interpreter that it prepares works, and each sanitizer finds planted faults."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "sanitize.py"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 11) or shutil.which("clang++") is None, reason="needs clang++"
)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sanitize", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["asan", "tsan"])
def test_faults_are_found(tool: ModuleType, tmp_path: Path, kind: str) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    python = tool.make_interpreter(kind, tmp_path, reports)
    assert list(tool.unseen_faults(kind, tmp_path, python, reports)) == []
    # Imports of tests work, and programs that tests start use the same interpreter.
    code = "import subprocess, sys, pytest; subprocess.run([sys.executable, '-c', 'import sys; print(sys.executable)'])"
    ran = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(python)

"""What setup.py does besides compiling."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json, pathlib, runpy, sys
core, target = sys.argv[1:]
sys.argv = ["setup.py", "--name"]  # which builds nothing
done = runpy.run_path("setup.py")
try:
    done["compile_profiles"](core, pathlib.Path(target))
except done["SetupError"] as error:
    print(json.dumps(str(error)))
"""


def test_a_module_that_does_not_load_here(tmp_path: Path) -> None:
    """As one that was cross-compiled."""
    pytest.importorskip("pybind11")
    pytest.importorskip("setuptools")
    core = tmp_path / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    core.write_bytes(b"for another machine")
    command = [sys.executable, "-c", SCRIPT, str(core), str(tmp_path / "profiles")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    message = json.loads(done.stdout.splitlines()[-1])
    assert message.startswith(f"{core}, which was built for ")
    assert "build on a machine of that kind" in message
    assert not (tmp_path / "profiles").exists()

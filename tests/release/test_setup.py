"""What setup.py does besides compiling."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import native_build
import pytest

ROOT = Path(__file__).resolve().parents[2]
X86_64 = platform.machine().lower() in ("x86_64", "amd64")
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


COMMANDS = """
import runpy, sys
sys.path.append("tools")
import native_build

def run(ninja, jobs=None, call=None):
    print(ninja._text)
    raise SystemExit

native_build.Ninja.run = run
native_build.write_compile_commands = lambda commands: None
sys.argv = ["setup.py", "build_ext", "--inplace"]
runpy.run_path("setup.py")
"""


def test_another_environment_recompiles_nothing(tmp_path: Path) -> None:
    """The commands that ninja gets are the same in each: they name no directory of the environment."""
    pytest.importorskip("pybind11")
    pytest.importorskip("setuptools")
    said = []
    for name in ("one", "other"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / name)], check=True)
        python = tmp_path / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        environment = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib"), "CRAYON_BUILD": "cpu"}
        command = [str(python), "-c", COMMANDS]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
        said.append(done.stdout)
    assert said[0].count(": compile ") == len(native_build.binding_sources()) + len(native_build.engine_sources(X86_64))
    assert str(tmp_path) not in said[0]
    assert said[0] == said[1]


def test_what_decides_what_the_cache_holds_changes_the_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build with other code finds none of the entries that the cache has."""
    assert len(native_build.build_id()) == 32  # each pattern matches a file of this tree
    monkeypatch.setattr(native_build, "ROOT", tmp_path)
    for pattern in native_build.CACHED_BY:
        path = tmp_path / pattern.replace("**/*", "deep/file.h").replace("*", "file")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    before = native_build.build_id()
    assert native_build.build_id() == before
    ids = {before}
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        path.write_text("after")
        ids.add(native_build.build_id())
        path.write_text("before")
    assert len(ids) == len(native_build.CACHED_BY) + 1
    (tmp_path / "crayon_hf" / "formats" / "file.py").unlink()
    with pytest.raises(native_build.BuildError, match=r"no file matches crayon_hf/formats/\*\.py: "):
        native_build.build_id()

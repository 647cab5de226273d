"""The parts of setup.py other than compiling, and a checkout that is not built."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import native_build
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
    """A compiled module that cannot be loaded on this machine, for example after cross-compiling, does not end the
    build."""
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


def test_each_binding_is_in_one_unit() -> None:
    units = native_build.binding_units()
    files = [file for unit in units for file in unit.files]
    assert sorted(files) == sorted(native_build.binding_sources())
    for beginning in native_build.HOT:
        assert any(file.startswith(f"cpp/bindings/{beginning}") for file in files), beginning


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands in for ccache")
def test_nothing_is_precompiled_with_ccache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not native_build.can_precompile(["c++"], msvc=True)
    assert not native_build.can_precompile(["c++", "-arch", "x86_64", "-arch", "arm64"], msvc=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("c++", "ccache"):
        assert native_build.can_precompile(["c++"], msvc=False)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert not native_build.can_precompile(["c++"], msvc=False)


def test_what_decides_what_the_cache_holds_changes_the_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a source file that decides the contents of cached cartridges changes, the build id changes. So the new build
    uses none of the old cache's entries."""
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
    with pytest.raises(native_build.BuildError, match="formats"):
        native_build.build_id()


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

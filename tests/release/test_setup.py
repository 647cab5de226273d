"""What setup.py does besides compiling."""

from __future__ import annotations

import json
import os
import platform
import shutil
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
    sources = [*(unit.source for unit in native_build.binding_units()), *native_build.engine_sources(X86_64)]
    assert [source for source in sources if f": compile {source}" not in said[0]] == []
    assert str(tmp_path) not in said[0]
    assert said[0] == said[1]


def test_each_binding_is_in_one_unit() -> None:
    units = native_build.binding_units()
    files = [file for unit in units for file in unit.files]
    assert sorted(files) == sorted(native_build.binding_sources())
    assert len(units) < len(files) / 3
    flags = {file: unit.flags for unit in units for file in unit.files}
    assert flags["cpp/bindings/engine/bind_encoding.cpp"] == ()
    assert flags["cpp/bindings/engine/bind_trace.cpp"] == ("-O1",)
    assert {unit.flags for unit in native_build.binding_units(msvc=True)} == {()}
    for beginning in native_build.HOT:
        assert any(file.startswith(f"cpp/bindings/{beginning}") for file in files), beginning


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("c++") is None, reason="needs GCC or Clang")
def test_what_is_precompiled_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When what it includes changes, or its flags; and with it what was compiled with it."""
    monkeypatch.setattr(native_build, "ROOT", tmp_path)
    for name, text in (("pre.h", '#include "own.h"\n'), ("own.h", "#define NUMBER 1\n")):
        (tmp_path / "cpp" / "src" / "part").mkdir(parents=True, exist_ok=True)
        (tmp_path / "cpp" / "src" / "part" / name).write_text(text)
    (tmp_path / "one.cpp").write_text("int number() { return NUMBER; }\n")

    def build(flag: str) -> list[int]:
        ninja = native_build.Ninja(Path("build"))
        command = ["c++", flag, "-Werror", "-Icpp/src", "-c", "one.cpp", "-o", "build/one.o"]
        prefix = ninja.precompile(command, "one.cpp", "build/one.o", "cpp/src/part/pre.h")
        ninja.compile(command, "one.cpp", "build/one.o", prefix=prefix)
        ninja.run()
        assert "-include" not in ninja.commands[0]["arguments"]  # clangd does not read what GCC precompiled
        return [(tmp_path / "build" / name).stat().st_mtime_ns for name in ("pre.h.gch", "one.o")]

    made = build("-O1")
    assert build("-O1") == made
    (tmp_path / "cpp" / "src" / "part" / "own.h").write_text("#define NUMBER 2\n")
    changed = build("-O1")
    assert all(now > before for now, before in zip(changed, made, strict=True))
    other = build("-O2")
    assert all(now > before for now, before in zip(other, changed, strict=True))


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

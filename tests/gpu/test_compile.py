"""The GPU engines compile without a warning, and their modules say what is missing on a machine without a driver.

One architecture each, with little optimization; `make gpu` compiles for all. Skipped without nvcc or hipcc, unless
CRAYON_NVCC or CRAYON_HIPCC names it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gpu_build
import gpu_toolchain
import pytest
from native_build import BuildError

ROOT = Path(__file__).resolve().parents[2]
NAMED = {"cuda": "CRAYON_NVCC", "hip": "CRAYON_HIPCC"}

# With a device it is opened; without one it has to say why, and nothing else may happen.
USE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location(sys.argv[1], sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
said = {"devices": module.devices(), "why": module.why_unusable()}
for index in (0, 1000000):
    try:
        said[index] = str(module.open(index))
    except Exception as error:
        said[index] = [type(error).__name__, str(error)]
print(json.dumps(said))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")
@pytest.mark.parametrize("name", ["cuda", "hip"])
def test_a_module_without_a_driver(name: str, tmp_path: Path) -> None:
    runtime = {runtime.name: runtime for runtime in gpu_build.RUNTIMES}[name]
    named = os.environ.get(NAMED[name])
    compiler = shutil.which(named) if named else gpu_build.find_compiler(runtime)
    if compiler is None:
        assert named is None, f"{NAMED[name]} names no compiler"
        pytest.skip(f"no {runtime.compiler}")
    archs = gpu_build.architectures(runtime, compiler)[:1]
    directory = ROOT / "build" / "gpu-test" / name  # what is up to date there stays
    out = gpu_build.build_module(runtime, compiler, archs, directory, strict=True, quick=True)

    command = [sys.executable, "-c", USE, runtime.module, str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    said = json.loads(ran.stdout)
    assert said["1000000"][0] == "DeviceUnavailableError"
    if said["devices"]:
        assert said["why"] == ""
        for _, _, memory, architecture in said["devices"]:
            assert memory > 0
            assert architecture.startswith(("sm_", "gfx"))
    else:
        assert "driver" in said["why"] or "no device" in said["why"]
        kind = {"cuda": "cuda", "hip": "rocm"}[name]
        assert said["0"] == ["DeviceUnavailableError", f"{kind}:0: {said['why']}"]


def test_what_crayon_build_asks_for() -> None:
    def names(text: str | None) -> tuple[list[str], bool]:
        runtimes, insists = gpu_build.wanted(text)
        return [runtime.name for runtime in runtimes], insists

    assert names(None) == names("") == (["cuda", "hip"], False)
    assert names("cpu") == ([], True)
    assert names("hip, cuda") == names("cuda,hip") == (["cuda", "hip"], True)
    assert names("hip") == (["hip"], True)
    with pytest.raises(BuildError, match="CRAYON_BUILD has rocm: it may have cpu, cuda, hip"):
        gpu_build.wanted("cuda,rocm")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")
def test_a_compiler_that_is_asked_for_and_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpu_build, "CUDA", replace(gpu_build.CUDA, usual=str(tmp_path / "usual")))
    monkeypatch.setattr(gpu_toolchain, "packaged_nvcc", lambda: None)
    with pytest.raises(BuildError, match=r"nvcc is not found: put it on PATH, or name .* in CUDA_HOME; pip install -r"):
        gpu_build.need_compiler(gpu_build.CUDA)
    nvcc = tmp_path / "toolkit" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    assert gpu_build.need_compiler(gpu_build.CUDA) == str(nvcc)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")
def test_hipcc_compiles_for_amd_beside_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hipcc itself would choose NVIDIA where it sees nvcc and no program that is called clang++."""
    hipcc = tmp_path / "hipcc"
    hipcc.write_text('#!/bin/sh\necho "HIP_PLATFORM is $HIP_PLATFORM"\n')
    hipcc.chmod(0o755)
    monkeypatch.setenv("HIP_PLATFORM", "nvidia")
    command = gpu_build.device_command(gpu_build.HIP, str(hipcc), ["gfx90a"], strict=True, quick=True)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "HIP_PLATFORM is amd\n"

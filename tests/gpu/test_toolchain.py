"""Which compiler builds the GPU engines, and for which architectures. Shell scripts stand in for compilers and drivers
that this machine need not have."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gpu_build
import gpu_toolchain
import pytest
from native_build import BuildError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")

Put = Callable[[str, str], Path]

NVCC_13 = "for n in 75 80 86 89 90 100 103 110 120 121; do echo compute_$n; done"
NVCC_12_4 = "for n in 50 60 70 75 80 86 87 89 90 90a; do echo compute_$n; done"


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """put(name, script): a program, found before all others. No toolkit, package, device or variable of this machine
    is seen."""
    for runtime in gpu_build.RUNTIMES:
        for variable in (*runtime.homes, runtime.variable):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(gpu_build, runtime.name.upper(), replace(runtime, usual=str(tmp_path / "usual")))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages")])
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "packages"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def put(name: str, script: str) -> Path:
        path = tmp_path / name if "/" in name else tmp_path / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    for name in ("nvidia-smi", "rocm_agent_enumerator", "offload-arch", "amdgpu-arch"):
        put(name, "exit 1")
    return put


def cuda(nvcc: Path, for_here: bool = True) -> list[str]:
    return gpu_build.architectures(gpu_build.CUDA, str(nvcc), for_here)


def test_cuda_without_a_device_is_for_every_generation_that_nvcc_knows(put: Put) -> None:
    assert cuda(put("nvcc", NVCC_13)) == ["75", "80", "90", "100", "120"]
    assert cuda(put("nvcc", NVCC_12_4)) == ["75", "80", "90"]
    put("nvidia-smi", 'echo "Failed to initialize NVML"; exit 9')
    assert cuda(put("nvcc", NVCC_13)) == ["75", "80", "90", "100", "120"]
    put("nvidia-smi", "echo '[N/A]'")
    assert cuda(put("nvcc", NVCC_13)) == ["75", "80", "90", "100", "120"]
    with pytest.raises(BuildError, match="nvcc does not compile for 75, 80, 90, 100, 120: install another"):
        cuda(put("nvcc", "exit 1"))


@pytest.mark.parametrize(
    ("capabilities", "nvcc", "archs"),
    [
        ("9.0", NVCC_13, ["90"]),
        (r"8.9\n7.5\n8.9", NVCC_13, ["75", "89"]),
        (r"12.0\n9.0", NVCC_13, ["90", "120"]),
        ("10.3", NVCC_13, ["103"]),
        ("12.2", NVCC_13, ["121"]),  # runs the code of the one before it
        ("10.0", NVCC_12_4, ["90"]),  # runs its PTX
        (r"7.0\n8.0", NVCC_13, ["80"]),
        ("7.0", NVCC_12_4, ["70"]),
    ],
)
def test_cuda_is_for_the_devices_that_are_here(put: Put, capabilities: str, nvcc: str, archs: list[str]) -> None:
    put("nvidia-smi", f"[ \"$*\" = '--query-gpu=compute_cap --format=csv,noheader' ] && printf '{capabilities}\\n'")
    assert cuda(put("nvcc", nvcc)) == archs
    assert set(cuda(put("nvcc", NVCC_13), for_here=False)) == {"75", "80", "90", "100", "120"}


def test_cuda_of_a_device_that_nvcc_has_given_up(put: Put) -> None:
    put("nvidia-smi", "echo 7.0")
    with pytest.raises(BuildError, match=r"does not compile for 70, which this machine has: .* in CRAYON_CUDA_ARCHS"):
        cuda(put("nvcc", NVCC_13))


def test_named_architectures_are_taken_as_they_are(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put("nvidia-smi", "echo 9.0")
    monkeypatch.setenv("CRAYON_CUDA_ARCHS", " 80, 86 ,")
    assert cuda(put("nvcc", "exit 1")) == ["80", "86"]


HIPCC = """
[ "$HIP_PLATFORM" = amd ] || exit 1
for word; do case $word in --offload-arch=gfx90a|--offload-arch=gfx1030|--offload-arch=gfx1101) exit 0; esac; done
exit 1"""


def test_hip_is_for_what_hipcc_knows(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    hipcc = put("hipcc", HIPCC)
    monkeypatch.setenv("HIP_PLATFORM", "nvidia")
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc)) == ["gfx90a", "gfx1030"]
    put("rocm_agent_enumerator", "echo gfx000")
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc)) == ["gfx90a", "gfx1030"]
    with pytest.raises(BuildError, match="does not compile for gfx90a, gfx942, gfx1030, gfx1100: install another"):
        gpu_build.architectures(gpu_build.HIP, str(put("hipcc", "exit 1")))


def test_hip_is_for_the_devices_that_are_here(put: Put) -> None:
    hipcc = put("hipcc", HIPCC)
    put("rocm_agent_enumerator", r"printf 'gfx000\ngfx90a:sramecc+:xnack-\ngfx90a\n'")
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc)) == ["gfx90a"]
    put("rocm_agent_enumerator", "echo gfx942")
    with pytest.raises(BuildError, match="does not compile for gfx942, which this machine has"):
        gpu_build.architectures(gpu_build.HIP, str(hipcc))
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc), for_here=False) == ["gfx90a", "gfx1030"]
    put("rocm_agent_enumerator", "exit 1")
    put("offload-arch", "echo gfx1101")
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc)) == ["gfx1101"]


def test_a_build_that_is_not_asked_tries_an_engine_for_a_gpu_that_is_here(put: Put) -> None:
    def why(runtime: gpu_build.Runtime) -> str:
        return gpu_build.why_not_tried(runtime)

    no_nvidia, no_amd = (f"no {maker} GPU was found when it was built" for maker in ("NVIDIA", "AMD"))
    assert (why(gpu_build.CUDA), why(gpu_build.HIP)) == (no_nvidia, no_amd)
    put("nvcc", NVCC_13)
    put("hipcc", HIPCC)
    assert (why(gpu_build.CUDA), why(gpu_build.HIP)) == (no_nvidia, no_amd)  # a compiler is no reason
    put("nvidia-smi", "echo 9.0")
    put("rocm_agent_enumerator", "echo gfx90a")
    assert (why(gpu_build.CUDA), why(gpu_build.HIP)) == ("", "")
    put("nvidia-smi", '[ "$1" = -L ] && echo "GPU 0: Tesla K80 (UUID: GPU-1)"')  # an old driver
    assert why(gpu_build.CUDA) == ""
    put("nvidia-smi", '[ "$1" = -L ] && echo "No devices found."')
    assert why(gpu_build.CUDA) == no_nvidia


def test_a_gpu_without_a_compiler(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    put("nvidia-smi", "echo 9.0")
    put("rocm_agent_enumerator", "echo gfx90a")
    assert gpu_build.why_not_tried(gpu_build.CUDA) == "nvcc was not found when it was built"
    assert gpu_build.why_not_tried(gpu_build.HIP) == "hipcc was not found when it was built"


def packaged(packages: Path, version: str) -> Path:
    """The files that the packages of tools/nvcc.txt bring."""
    root = packages / "nvidia" / version
    for name in ("nvvm/bin/cicc", "include/cuda_runtime.h", "include/nv/target", "lib/libcudart_static.a", "bin/nvcc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "bin" / "nvcc").chmod(0o755)
    return root


def test_the_nvcc_of_packages_is_the_last_choice(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> str | None:
        return gpu_build.find_compiler(gpu_build.CUDA)

    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert found() is None
    root = packaged(tmp_path / "packages", "cu13")
    assert found() == str(root / "bin" / "nvcc")
    (root / "include" / "nv" / "target").unlink()  # some of the packages, which others need
    assert found() is None
    packaged(tmp_path / "packages", "cu9")
    newest = packaged(tmp_path / "packages", "cu14")
    assert found() == str(newest / "bin" / "nvcc")
    usual = put("usual/bin/nvcc", "")
    assert found() == str(usual)
    on_path = put("nvcc", "")
    assert found() == str(on_path)
    named = put("named/bin/nvcc", "")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "named"))
    assert found() == str(named)


def test_an_isolated_build_sees_the_packages_of_the_environment(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip takes the environment's packages from sys.path, not from sysconfig."""
    root = packaged(tmp_path / "environment", "cu13")
    assert gpu_toolchain.packaged_nvcc() is None
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "environment"))
    assert gpu_toolchain.packaged_nvcc() == str(root / "bin" / "nvcc")
    monkeypatch.setattr("sysconfig.get_path", lambda name: os.devnull)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "environment")])
    assert gpu_toolchain.packaged_nvcc() == str(root / "bin" / "nvcc")


def test_an_engine_for_rocm_finds_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was linked, and where ROCm usually is on other machines."""
    (tmp_path / "lib").mkdir()
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert gpu_build.link_flags(gpu_build.HIP, "hipcc") == ["-lamdhip64"]
    (tmp_path / "lib" / "libamdhip64.so").touch()
    library = tmp_path / "lib"
    expected = [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,-rpath,/opt/rocm/lib", "-lamdhip64"]
    assert gpu_build.link_flags(gpu_build.HIP, "hipcc") == expected

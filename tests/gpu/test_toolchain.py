"""The choice of compilers and architectures for the GPU engines, with shell scripts instead of compilers and
drivers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gpu_build
import pytest
from native_build import BuildError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")

Put = Callable[[str, str], Path]

NVCC_13 = "for n in 75 80 86 89 90 100 103 110 120 121; do echo compute_$n; done"
NVCC_12_4 = "for n in 50 60 70 75 80 86 87 89 90 90a; do echo compute_$n; done"


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """A function put(name, script) that makes a program which is found before all others. This machine's toolkits,
    packages, devices and variables are hidden."""
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


@pytest.mark.parametrize(
    ("capabilities", "nvcc", "archs"),
    [
        ("", NVCC_13, ["75", "80", "90", "100", "120"]),  # without a device: every generation that nvcc knows
        ("", NVCC_12_4, ["75", "80", "90"]),
        ("[N/A]", NVCC_13, ["75", "80", "90", "100", "120"]),
        (r"8.9\n7.5\n8.9", NVCC_13, ["75", "89"]),
        ("10.3", NVCC_13, ["103"]),
        ("12.2", NVCC_13, ["121"]),  # runs the code of the previous architecture
        ("10.0", NVCC_12_4, ["90"]),  # runs its PTX
        (r"7.0\n8.0", NVCC_13, ["80"]),
        ("7.0", NVCC_12_4, ["70"]),
    ],
)
def test_cuda_is_for_the_devices_that_are_here(put: Put, capabilities: str, nvcc: str, archs: list[str]) -> None:
    put("nvidia-smi", f"printf '{capabilities}\\n'" if capabilities else "exit 9")
    assert cuda(put("nvcc", nvcc)) == archs
    assert set(cuda(put("nvcc", NVCC_13), for_here=False)) == {"75", "80", "90", "100", "120"}


def test_named_architectures_are_taken_as_they_are(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="does not compile"):
        cuda(put("nvcc", "exit 1"))
    monkeypatch.setenv("CRAYON_CUDA_ARCHS", " 80, 86 ,")
    assert cuda(put("nvcc", "exit 1")) == ["80", "86"]


HIPCC = """
[ "$HIP_PLATFORM" = amd ] || exit 1
for word; do case $word in --offload-arch=gfx90a|--offload-arch=gfx1030|--offload-arch=gfx1101) exit 0; esac; done
exit 1"""


def test_hip_is_for_the_devices_that_are_here(put: Put) -> None:
    hipcc = put("hipcc", HIPCC)
    put("rocm_agent_enumerator", r"printf 'gfx000\ngfx90a:sramecc+:xnack-\ngfx90a\n'")
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc)) == ["gfx90a"]
    put("rocm_agent_enumerator", "echo gfx942")
    with pytest.raises(BuildError, match="gfx942"):
        gpu_build.architectures(gpu_build.HIP, str(hipcc))
    assert gpu_build.architectures(gpu_build.HIP, str(hipcc), for_here=False) == ["gfx90a", "gfx1030"]


def test_a_build_that_is_not_asked_tries_an_engine_for_a_gpu_that_is_here(put: Put) -> None:
    put("nvcc", NVCC_13)
    put("hipcc", HIPCC)
    assert all(gpu_build.why_not_tried(runtime) for runtime in gpu_build.RUNTIMES)  # a compiler alone is not a reason
    put("nvidia-smi", '[ "$1" = -L ] && echo "GPU 0: Tesla K80 (UUID: GPU-1)"')  # an old driver
    put("rocm_agent_enumerator", "echo gfx90a")
    assert not any(gpu_build.why_not_tried(runtime) for runtime in gpu_build.RUNTIMES)


def test_the_nvcc_of_packages_is_the_last_choice(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for version in ("cu9", "cu14"):
        root = tmp_path / "packages" / "nvidia" / version
        for name in ("nvvm/bin/cicc", "include/cuda_runtime.h", "include/nv/target", "lib/libcudart_static.a"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        put(f"packages/nvidia/{version}/bin/nvcc", "")
    assert gpu_build.find_compiler(gpu_build.CUDA) == str(tmp_path / "packages/nvidia/cu14/bin/nvcc")
    for name in ("usual/bin/nvcc", "nvcc", "named/bin/nvcc"):
        better = put(name, "")
        if "named" in name:
            monkeypatch.setenv("CUDA_PATH", str(tmp_path / "named"))
        assert gpu_build.find_compiler(gpu_build.CUDA) == str(better)

"""The tools and targets for the GPU engines: compilers from packages, devices of this machine, known architectures.

tools/gpu_build.py chooses among them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

from native_build import ROOT

PACKAGES = ROOT / "tools" / "nvcc.txt"
_NEEDED = ("bin/nvcc", "nvvm/bin/cicc", "include/cuda_runtime.h", "include/nv/target", "lib/libcudart_static.a")
_SECONDS = 30  # a driver that hangs must not hang the installation


def packaged_nvcc() -> str | None:
    """Return the newest nvcc of the packages in tools/nvcc.txt, if all these packages are installed.

    It looks in the environment of this build, which pip isolates, and in the environment that the build is for.
    """
    places = [*sys.path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for place in dict.fromkeys(places):
        for root in sorted(Path(place or ".", "nvidia").glob("cu[0-9]*"), key=_number, reverse=True):
            if all((root / name).exists() for name in _NEEDED):
                return str(root / "bin" / "nvcc")
    return None


def packages() -> list[str]:
    """Return the requirements that install `packaged_nvcc`."""
    lines = [line.partition("#")[0].strip() for line in PACKAGES.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line]


def known_to_nvcc(nvcc: str) -> set[int]:
    """Return the architectures that nvcc compiles for: 75 for compute_75."""
    said = _output([nvcc, "--list-gpu-arch"]) or ""
    return {int(number) for number in re.findall(r"\bcompute_([0-9]+)\b", said)}


def known_to_hipcc(hipcc: list[str], archs: Iterable[str]) -> list[str]:
    """Return the architectures of `archs` that this hipcc compiles for and has device libraries of.

    hipcc has no list of them, so each is tried with an empty file.
    """
    with tempfile.TemporaryDirectory() as directory:
        empty = Path(directory, "empty.hip")
        empty.touch()
        check = [*hipcc, "-fsyntax-only", "-nogpuinc"]
        return [name for name in archs if _output([*check, f"--offload-arch={name}", str(empty)]) is not None]


def nvidia_devices() -> list[str]:
    """Return the compute capabilities of this machine's devices: 75 for 7.5. Empty without a driver that reports
    them."""
    said = _output(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]) or ""
    return sorted({major + minor for major, minor in re.findall(r"^\s*([0-9]+)\.([0-9])\s*$", said, re.MULTILINE)})


def has_nvidia_device() -> bool:
    """Whether nvidia-smi reports a device, also with a driver too old for `nvidia_devices`."""
    return bool(nvidia_devices() or re.search(r"^GPU \d", _output(["nvidia-smi", "-L"]) or "", re.MULTILINE))


def amd_devices(hipcc: str | None) -> list[str]:
    """Return the names of this machine's devices, such as gfx90a, from programs beside hipcc or on PATH.

    Empty without a driver.
    """
    beside = [] if hipcc is None else [str(Path(hipcc).resolve().parent), str(Path(hipcc).parent)]
    path = os.pathsep.join([*beside, os.environ.get("PATH", "")])
    for program in ("rocm_agent_enumerator", "offload-arch", "amdgpu-arch"):
        if found := shutil.which(program, path=path):
            # gfx000 is the CPU. Settings of a device follow a colon.
            names = {line.strip().partition(":")[0] for line in (_output([found]) or "").splitlines()}
            if names := {name for name in names if re.fullmatch(r"gfx[1-9][0-9a-f]+", name)}:
                return sorted(names)
    return []


def _output(command: list[str]) -> str | None:
    """Return a program's stdout; None if it is missing, fails, or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _number(root: Path) -> int:
    return int("".join(filter(str.isdigit, root.name)))

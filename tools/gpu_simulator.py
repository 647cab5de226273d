"""Builds the simulator of a GPU for tests (cpp/gpu_simulator). It runs the kernels' code for devices on the CPU.

    python tools/gpu_simulator.py

prints the path of the extension module `_gpu_simulator`. It needs a C++ compiler compatible with GCC, and no GPU
compiler.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from native_build import INCLUDES, ROOT, WARNINGS, BuildError, Ninja, cached, pybind11_headers

NAME = "_gpu_simulator"
DIRECTORY = ROOT / "build" / "gpu-simulator"
KERNELS = "cpp/gpu_simulator/simulated_kernels.cpp"
RUNTIMES: dict[str, list[str]] = {"cuda": [], "hip": ["-DCRAYON_SIMULATES_HIP"]}
"""The simulated runtimes, with the flags that choose their branches."""
RUNNER = ["cpp/gpu_simulator/fiber.cpp", "cpp/gpu_simulator/block_runner.cpp"]
SOURCES = [
    *RUNNER,
    "cpp/gpu_simulator/simulator.cpp",
    "cpp/gpu_simulator/volatile_accesses.cpp",
    "cpp/gpu/host_device.cpp",
    "cpp/device_module/simulator_module.cpp",
]
COMMON = ["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", *WARNINGS]
RACES = ["-g1", "-fsanitize=thread", "--param", "tsan-distinguish-volatile=1"]
"""ThreadSanitizer's flags. Volatile accesses of several lanes to one place do not count as races
(volatile_accesses.cpp)."""


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CXX") or "c++")


def built_object(ninja: Ninja, source: str, built: Path, flags: list[str]) -> str:
    command = [*cached(compiler()), *COMMON, *flags, "-c", source, "-o", str(built)]
    return ninja.compile(command, source, built)


def shared_objects(ninja: Ninja, sources: list[str]) -> list[str]:
    """Compile the objects that all builds share."""
    headers = [f"-I{path}" for path in (pybind11_headers(), sysconfig.get_path("include"))]
    flags = ["-g0", *INCLUDES, *headers]
    return [built_object(ninja, source, DIRECTORY / f"{Path(source).stem}.o", flags) for source in sources]


def build(races: bool = False) -> Path:
    """Build the extension module for the running Python, without rebuilding current targets.

    `races` compiles the kernels for ThreadSanitizer (GCC's). Raises BuildError with the compiler's output.
    """
    ninja = Ninja(DIRECTORY)
    directory = DIRECTORY / ("races" if races else "plain")
    return _linked(ninja, directory, [_kernels(ninja, runtime, directory, races) for runtime in RUNTIMES], races)


def _kernels(ninja: Ninja, runtime: str, directory: Path, races: bool) -> str:
    flags = [*(RACES if races else ["-g0"]), *INCLUDES, *RUNTIMES[runtime]]
    return built_object(ninja, KERNELS, directory / f"kernels_of_{runtime}.o", flags)


def _linked(ninja: Ninja, directory: Path, kernels: list[str], races: bool) -> Path:
    objects = [*kernels, *shared_objects(ninja, SOURCES)]
    module = directory / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    sanitize = ["-fsanitize=thread"] if races else []
    ninja.make([*compiler(), "-shared", *objects, *sanitize, "-lpthread", "-o", str(module)], objects, module)
    ninja.run()
    return module


def race_launcher() -> tuple[list[str], dict[str, str]] | None:
    """Return the first words of a command, and environment variables, that start a Python which can load a module built
    with `races`.

    None if the compiler has no ThreadSanitizer as a shared library, as GCC has.
    """
    library = _output([*compiler(), "-print-file-name=libtsan.so"])
    if not os.path.isabs(library) or "clang" in _output([*compiler(), "--version"]):
        return None
    # ThreadSanitizer fails if address randomization maps memory where it does not expect it.
    can_fix = shutil.which("setarch") and subprocess.run(["setarch", "-R", "true"], check=False).returncode == 0
    return (["setarch", "-R"] if can_fix else []), {"LD_PRELOAD": library}


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    try:
        print(build())
    except BuildError as error:
        sys.exit(str(error))

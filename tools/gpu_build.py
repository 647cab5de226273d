"""Compiles the GPU engines as extension modules, for setup.py, `make gpu` and the tests.

    python tools/gpu_build.py [cuda] [hip]

compiles them for all default architectures with warnings as errors, and prints the resources of each kernel. Engines
that the command does not name are skipped if their compiler is missing. It needs no GPU.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import gpu_toolchain
from native_build import INCLUDES, ROOT, WARNINGS, BuildError, Ninja, cached, pybind11_headers

HIDDEN = ["-fPIC", "-fvisibility=hidden"]


@dataclass(frozen=True)
class Runtime:
    name: str  # in CRAYON_BUILD
    device: str  # in `Tokenizer.to`
    maker: str  # of the GPUs
    module: str  # of crayon_hf
    source: str
    compiler: str
    homes: tuple[str, ...]  # variables that name the toolkit's directory
    usual: str  # the directory of its installers
    variable: str  # names architectures
    architectures: tuple[str, ...]  # the default without a device


CUDA = Runtime(
    name="cuda",
    device="cuda",
    maker="NVIDIA",
    module="_cuda",
    source="cuda/device.cu",
    compiler="nvcc",
    homes=("CUDA_HOME", "CUDA_PATH"),
    usual="/usr/local/cuda",
    variable="CRAYON_CUDA_ARCHS",
    # The first architecture of each generation. Later devices of a generation run its code, too: T4, A100 (L4, RTX
    # 4090), H100, B200, 5090.
    architectures=("75", "80", "90", "100", "120"),
)
HIP = Runtime(
    name="hip",
    device="rocm",
    maker="AMD",
    module="_hip",
    source="hip/device.hip",
    compiler="hipcc",
    homes=("ROCM_PATH", "HIP_PATH"),
    usual="/opt/rocm",
    variable="CRAYON_HIP_ARCHS",
    architectures=("gfx90a", "gfx942", "gfx1030", "gfx1100"),
)
RUNTIMES = (CUDA, HIP)


def wanted(text: str | None) -> tuple[list[Runtime], bool]:
    """Parse CRAYON_BUILD: return the runtimes, and whether they are required. Raises BuildError for unknown words."""
    words = {word.strip() for word in (text or "").split(",")} - {""}
    if not words:
        return list(RUNTIMES), False
    known = {runtime.name: runtime for runtime in RUNTIMES}
    if unknown := sorted(words - {"cpu", *known}):
        raise BuildError(f"CRAYON_BUILD has {', '.join(unknown)}: it may have cpu, {', '.join(known)}")
    return [known[name] for name in known if name in words], True


def find_compiler(runtime: Runtime) -> str | None:
    """Look for the compiler in the toolkit that a variable names, on PATH, in the usual place and, for CUDA, in
    packages."""
    homes = [*(home for variable in runtime.homes if (home := os.environ.get(variable))), runtime.usual]
    places = [str(Path(home) / "bin") for home in homes]
    places.insert(-1, os.environ.get("PATH", os.defpath))
    found = shutil.which(runtime.compiler, path=os.pathsep.join(places))
    return found or (gpu_toolchain.packaged_nvcc() if runtime is CUDA else None)


def why_not_tried(runtime: Runtime) -> str:
    """Return why a default build leaves an engine out, or "" if the machine has such a GPU and a compiler."""
    compiler = find_compiler(runtime)
    has_device = gpu_toolchain.has_nvidia_device() if runtime is CUDA else bool(gpu_toolchain.amd_devices(compiler))
    if not has_device:
        return f"no {runtime.maker} GPU was found when it was built"
    return "" if compiler else f"{runtime.compiler} was not found when it was built"


def need_compiler(runtime: Runtime) -> str:
    if not sys.platform.startswith("linux"):
        raise BuildError(f"CRAYON_BUILD has {runtime.name}, which is built on Linux only")
    if found := find_compiler(runtime):
        return found
    get = "pip install -r tools/nvcc.txt brings one" if runtime is CUDA else "apt install hipcc brings one to Debian"
    raise BuildError(
        f"CRAYON_BUILD has {runtime.name}, and {runtime.compiler} is not found: put it on PATH, or name its toolkit's "
        f"directory in {runtime.homes[0]}; {get}"
    )


def invocation(runtime: Runtime, compiler: str) -> list[str]:
    """Return the first words of a command that runs the compiler.

    Without HIP_PLATFORM, hipcc compiles for NVIDIA if it finds an nvcc and no program called clang++.
    """
    return ["env", "HIP_PLATFORM=amd", compiler] if runtime is HIP else [compiler]


def architectures(runtime: Runtime, compiler: str, for_here: bool = True) -> list[str]:
    """Return the architectures to compile for. Leaves out unknown ones of the compiler, and raises BuildError if none
    is left.

    They are those in the runtime's environment variable. If it is not set: with `for_here` those of this machine's
    devices, otherwise the defaults.
    """
    if named := [word.strip() for word in os.environ.get(runtime.variable, "").split(",") if word.strip()]:
        return named
    here = []
    if for_here:
        here = gpu_toolchain.nvidia_devices() if runtime is CUDA else gpu_toolchain.amd_devices(compiler)
    wanted = here or list(runtime.architectures)
    if runtime is CUDA:
        known = gpu_toolchain.known_to_nvcc(compiler)
        # A device that nvcc does not know runs the code of the previous architecture, or its PTX.
        numbers = {max((each for each in known if each <= int(number)), default=0) for number in wanted}
        chosen = [str(number) for number in sorted(numbers - {0})]
    else:
        chosen = gpu_toolchain.known_to_hipcc(invocation(runtime, compiler), wanted)
    if not chosen:
        whose = ", which this machine has" if here else ""
        raise BuildError(
            f"{compiler} does not compile for {', '.join(wanted)}{whose}: install another version, or name other "
            f"architectures in {runtime.variable}"
        )
    return chosen


def device_command(runtime: Runtime, path: str, archs: list[str], strict: bool, quick: bool) -> list[str]:
    """Return the command that compiles the engine at `path`, without the argument for its output. `strict`: warnings
    are errors. `quick`: little optimization."""
    if runtime is CUDA:
        targets = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in archs[:-1]]
        # The newest architecture also gets PTX, which drivers compile for later devices.
        targets += [f"-gencode=arch=compute_{number},code=[sm_{number},compute_{number}]" for number in archs[-1:]]
        host = ",".join(HIDDEN + (WARNINGS if strict else []))
        flags = [*targets, "--threads=0", f"-Xcompiler={host}", *(["-Werror=all-warnings"] if strict else [])]
        flags += ["-O1", "-Xcicc=-O1", "-Xptxas=-O1"] if quick else ["-O3"]
    else:
        flags = [f"--offload-arch={name}" for name in archs] + HIDDEN + (WARNINGS if strict else [])
        flags += ["-O1" if quick else "-O3", "-g0"]
    return [*invocation(runtime, path), "-std=c++17", *flags, *INCLUDES, "-c", runtime.source]


def link_flags(runtime: Runtime, compiler: str) -> list[str]:
    if runtime is HIP:
        library = Path(os.environ.get("ROCM_PATH") or Path(compiler).resolve().parents[1]) / "lib"
        rpath = [f"-Wl,-rpath,{place}" for place in dict.fromkeys((library, Path(runtime.usual, "lib")))]
        where = [f"-L{library}", *rpath] if (library / "libamdhip64.so").exists() else []
        return [*where, "-lamdhip64"]
    # CUDA's runtime is linked statically with hidden symbols: PyTorch may load another version into the process.
    said = _output([compiler, "--dryrun", "-c", str(ROOT / runtime.source)])
    top = re.search(r"^#\$ TOP=(.*)$", said, re.MULTILINE)
    root = Path(top[1]) if top else Path(compiler).resolve().parents[1]
    for pattern in ("lib64", "lib", "targets/*/lib"):
        for directory in sorted(root.glob(pattern)):
            if (directory / "libcudart_static.a").exists():
                static = str((directory / "libcudart_static.a").resolve())
                return [static, "-Wl,--exclude-libs,ALL", "-ldl", "-lrt", "-lpthread"]
    raise BuildError(f"{compiler} has no libcudart_static.a beside it ({root})")


def build_module(
    runtime: Runtime,
    compiler: str,
    archs: list[str],
    directory: Path,
    *,
    strict: bool = False,
    quick: bool = False,
) -> Path:
    """Build the extension module for the running Python in a directory, without rebuilding current targets.

    Raises BuildError with the compiler's output.
    """
    ninja = Ninja(directory)
    device, face = directory / "device.o", directory / "module.o"
    command = [*device_command(runtime, compiler, archs, strict, quick), "-o", str(device)]
    objects = [ninja.compile(command, runtime.source, device)]
    cxx = shlex.split(os.environ.get("CXX") or "c++")
    headers = [f"-I{path}" for path in (pybind11_headers(), sysconfig.get_path("include"))]
    flags = ["-std=c++17", "-O0" if quick else "-O2", "-g0", *HIDDEN, *(WARNINGS if strict else [])]
    flags += [*headers, *INCLUDES, f"-DCRAYON_MODULE={runtime.module}"]
    source = "cpp/device_module/module.cpp"
    objects.append(ninja.compile([*cached(cxx), *flags, "-c", source, "-o", str(face)], source, face))
    module = directory / f"{runtime.module}{sysconfig.get_config_var('EXT_SUFFIX')}"
    link = [*cxx, "-shared", *reversed(objects), *link_flags(runtime, compiler), "-o", str(module)]
    ninja.make(link, objects, module)
    ninja.run()
    return module


def run(command: list[str]) -> str:
    """Run a command and return its output. Raises BuildError with the output if it fails."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{done.stdout}\nexit status {done.returncode}: {shlex.join(command)}")
    return done.stdout


def _output(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


def resources(runtime: Runtime, compiler: str, arch: str) -> list[dict[str, str]]:
    """Compile for one architecture, with warnings as errors, and return the resources of each kernel."""
    command = device_command(runtime, compiler, [arch], strict=True, quick=False)
    command += ["-Xptxas=-v"] if runtime is CUDA else ["-Rpass-analysis=kernel-resource-usage"]
    said = run([*command, "-o", os.devnull])
    if runtime is CUDA:
        start, patterns = (
            r"Compiling entry function '(\S+)'",
            {
                "registers": r"Used (\d+) registers",
                "shared": r"(\d+) bytes smem",
                "local": r"(\d+) bytes stack frame",
                "spilled": r"(\d+) bytes spill stores",
            },
        )
    else:
        start, patterns = (
            r"Function Name: (\S+)",
            {
                "registers": r" VGPRs: (\d+)",
                "shared": r"LDS Size \[bytes/block\]: (\d+)",
                "local": r"ScratchSize \[bytes/lane\]: (\d+)",
                "spilled": r"VGPRs Spill: (\d+)",
            },
        )
    rows: list[dict[str, str]] = []
    for line in said.splitlines():
        if name := re.search(start, line):
            rows.append({"kernel": name[1], **dict.fromkeys(patterns, "0")})
        for key, pattern in patterns.items():
            if rows and (found := re.search(pattern, line)):
                rows[-1][key] = found[1]
    shown = _output(["c++filt", *(row["kernel"] for row in rows)]).splitlines()
    for row, spelled in zip(rows, shown, strict=True):
        kernel = re.search(r"run_kernel<crayon::gpu::(.*?)>\(", spelled)
        row["kernel"] = kernel[1].replace("crayon::", "") if kernel else spelled
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtimes", nargs="*", metavar="runtime", help="cuda, hip")
    names = parser.parse_args().runtimes
    found, slow = 0, []
    for runtime in wanted(",".join(names))[0]:
        compiler = need_compiler(runtime) if names else find_compiler(runtime)
        if compiler is None:
            print(f"{runtime.name}: no {runtime.compiler}, left out")
            continue
        found += 1
        for arch in architectures(runtime, compiler, for_here=False):
            print(f"\n{runtime.source} for {arch}\n{'kernel':32} registers shared local spilled")
            for row in resources(runtime, compiler, arch):
                cells = (row["kernel"], row["registers"], row["shared"], row["local"], row["spilled"])
                print("{:32} {:>9} {:>6} {:>5} {:>7}".format(*cells), flush=True)
                slow += [f"{row['kernel']} for {arch}"] if (row["local"], row["spilled"]) != ("0", "0") else []
    if found == 0:
        raise BuildError("neither nvcc nor hipcc is found")
    if slow:
        raise BuildError(f"these kernels keep values in local memory, which is slow: {', '.join(slow)}")


if __name__ == "__main__":
    try:
        main()
    except BuildError as error:
        sys.exit(str(error))

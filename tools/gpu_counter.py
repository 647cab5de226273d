"""Builds the counter of GPU instructions (cpp/gpu_counter): kernels on the CPU that count the instructions of warps.

    python tools/gpu_counter.py

prints the path of the extension module `_gpu_counter`. It needs clang++, because it counts instructions in LLVM code.
CRAYON_CLANG names another compiler.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from native_build import INCLUDES, ROOT, WARNINGS, BuildError, Ninja, pybind11_headers

NAME = "_gpu_counter"
DIRECTORY = ROOT / "build" / "gpu-counter"
MODEL = "cpp/gpu_counter/lock_step.cpp"
KERNELS = "cpp/gpu_counter/counted_kernels.cpp"
SOURCES = [MODEL, "cpp/gpu/host_device.cpp", "cpp/device_module/counter_module.cpp"]
COMMON = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-g0", *WARNINGS]
# Without vectors, which a GPU's lanes do not have, and without exceptions, which would add basic blocks.
SCALAR = ["-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-exceptions", "-S", "-emit-llvm"]

_EACH = "for (uint32_t lane = 0; lane < {n}; ++lane) f(lane);"
_COUNTED_EACH = (
    "crayon_count_each_begins();\n"
    "        for (uint32_t lane = 0; lane < {n}; ++lane) crayon_count_lane(lane), f(lane);\n"
    "        crayon_count_each_ends(), crayon_count_more(1);"
)
_ONCE = "        __syncthreads();\n#else\n        f();\n#endif"
_COUNTED_ONCE = (
    "        __syncthreads();\n#else\n"
    "        crayon_count_each_begins(), crayon_count_lane(0);\n"
    "        f();\n"
    "        crayon_count_each_ends(), crayon_count_more(2);\n#endif"
)
_GROUPS = "for (uint32_t i = 0; i < kThreads / Group::kWidth; ++i) f(Group(), i);"
_COUNTED_GROUPS = (
    "for (uint32_t i = 0; i < kThreads / Group::kWidth; ++i) crayon_count_group(Group::kWidth, i), f(Group(), i);\n"
    "        crayon_count_groups_end(), crayon_count_more(1);"
)
_LEAST = (
    "        uint32_t least = values[0];\n"
    "        for (uint32_t lane = 1; lane < kWidth; ++lane) least = values[lane] < least ? values[lane] : least;\n"
)
# Each halving of the lanes takes one shuffle and one minimum.
_COUNTED_LEAST = (
    "        crayon_count_pause();\n" + _LEAST + "        crayon_count_resume();\n"
    "        for (uint32_t lanes = kWidth / 2; lanes > 0; lanes /= 2) crayon_count_more(2);\n"
)
_SUM = "        uint32_t total = 0;\n        for (uint32_t lane = 0; lane < kThreads; ++lane) {\n"
# Two sums in a warp, each of five steps with a shuffle, a comparison and an addition. Two more shuffles, two barriers,
# accesses to shared memory with their addresses, and the final additions.
_SUM_END, _COUNTED_SUM_END = (
    "        (void)shared;\n        return total;\n",
    "        (void)shared;\n        crayon_count_resume(), crayon_count_more(50);\n        return total;\n",
)
PATCHES: dict[str, str] = {
    "namespace crayon {\nnamespace gpu {\n": '#include "gpu_counter/marks.h"\n\nnamespace crayon {\nnamespace gpu {\n',
    _EACH.format(n="kWidth"): _COUNTED_EACH.format(n="kWidth"),
    _EACH.format(n="kThreads"): _COUNTED_EACH.format(n="kThreads"),
    _ONCE: _COUNTED_ONCE,
    _GROUPS: _COUNTED_GROUPS,
    _LEAST: _COUNTED_LEAST,
    _SUM: f"        crayon_count_pause();\n{_SUM}",
    _SUM_END: _COUNTED_SUM_END,
}
"""Texts that occur once in team.h, each with its replacement in the counter's copy."""


def patched(team: str) -> str:
    """Return `team` (team.h) with the counter's calls inserted. Raises BuildError if a text of PATCHES is missing or
    repeated."""
    for old, new in PATCHES.items():
        if team.count(old) != 1:
            raise BuildError(
                f"cpp/gpu/team.h has this text {team.count(old)} times, expected once: update PATCHES in "
                f"tools/gpu_counter.py\n{old}"
            )
        team = team.replace(old, new)
    return team


def compiler() -> str:
    """Return the path of clang++. Raises BuildError if it is missing."""
    wanted = os.environ.get("CRAYON_CLANG") or "clang++"
    if found := shutil.which(wanted):
        return found
    raise BuildError(f"{wanted}, which the counter needs, is not found: install clang, or name one in CRAYON_CLANG")


def write_headers(directory: Path) -> Path:
    """Copy the headers of cpp/gpu below `directory`, with the patched team.h. Unchanged files are not written again."""
    for path in sorted((ROOT / "cpp" / "gpu").glob("*.h")):
        text = path.read_text()
        copy = directory / "gpu" / path.name
        wanted = patched(text) if path.name == "team.h" else text
        if not copy.exists() or copy.read_text() != wanted:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(wanted)
    return directory


def built_object(ninja: Ninja, source: str, built: Path, flags: list[str]) -> str:
    return ninja.compile([compiler(), *COMMON, *flags, "-c", source, "-o", str(built)], source, built)


def build() -> Path:
    """Build the extension module for the running Python, without rebuilding current targets.

    Raises BuildError with the compiler's output.
    """
    ninja = Ninja(DIRECTORY)
    headers = write_headers(DIRECTORY / "headers")
    code, counted, kernels = DIRECTORY / "kernels.ll", DIRECTORY / "counted.ll", DIRECTORY / "kernels.o"
    flags = [*COMMON, *SCALAR, f"-I{headers}", *INCLUDES]
    ninja.compile([compiler(), *flags, KERNELS, "-o", str(code)], KERNELS, code)
    marks = "tools/llvm_instructions.py"
    ninja.make([sys.executable, marks, str(code), str(counted)], [str(code), marks], counted)
    ninja.make([compiler(), "-O1", "-fPIC", "-c", str(counted), "-o", str(kernels)], [str(counted)], kernels)
    python = [f"-I{path}" for path in (pybind11_headers(), sysconfig.get_path("include"))]
    others = [
        built_object(ninja, each, DIRECTORY / f"{Path(each).stem}.o", ["-O2", *INCLUDES, *python]) for each in SOURCES
    ]
    objects = [str(kernels), *others]
    module = DIRECTORY / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    ninja.make([compiler(), "-shared", *objects, "-lpthread", "-o", str(module)], objects, module)
    ninja.run()
    return module


if __name__ == "__main__":
    try:
        print(build())
    except BuildError as error:
        sys.exit(str(error))

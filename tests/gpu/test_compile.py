"""The GPU engines compile without a warning, and on a machine without a driver their modules report that.

Each engine is compiled for one GPU architecture, with little optimization; `make gpu` compiles for all. The tests are
skipped without nvcc or hipcc, unless CRAYON_NVCC or CRAYON_HIPCC names it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gpu_build
import pytest
from native_build import BuildError

ROOT = Path(__file__).resolve().parents[2]
NAMED = {"cuda": "CRAYON_NVCC", "hip": "CRAYON_HIPCC"}

# If a device is present, the module opens it; otherwise the module must say why it cannot.
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
    directory = ROOT / "build" / "gpu-test" / name  # reuses current objects
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
        assert "driver" in said["why"] or "no usable device" in said["why"]
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
    with pytest.raises(BuildError, match="CRAYON_BUILD has rocm"):
        gpu_build.wanted("cuda,rocm")


MERGE_IN_SHARED = """
#include <hip/hip_runtime.h>
#include "gpu/merges.h"
using namespace crayon::gpu;
__global__ void __launch_bounds__(MergeInShared::kThreads) merge_in_shared(const Work work) {
    __shared__ MergeInShared::Shared shared;
    MergeInShared::run(Block<MergeInShared::kThreads>(blockIdx.x), work, shared);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")
def test_a_wavefront_waits_for_its_shared_memory(tmp_path: Path) -> None:
    """In the code for gfx90a, a wait for the lanes' reads and writes of shared memory precedes each barrier of a
    wavefront."""
    compiler = shutil.which(os.environ.get(NAMED["hip"], "hipcc"))
    if compiler is None:
        pytest.skip("no hipcc")
    source, out = tmp_path / "merge.hip", tmp_path / "merge.s"
    source.write_text(MERGE_IN_SHARED)
    includes = [f"-I{ROOT / name}" for name in ("cpp", "cpp/include", "cpp/src")]
    command = [compiler, "-std=c++17", "-O3", "--offload-arch=gfx90a", "--cuda-device-only", "-S", *includes, source]
    subprocess.run([*command, "-o", out], check=True, capture_output=True, env=os.environ | {"HIP_PLATFORM": "amd"})
    lines = [line.strip() for line in out.read_text().splitlines()]
    barriers = [number for number, line in enumerate(lines) if line == "; wave barrier"]
    assert len(barriers) >= 5
    for number in barriers:
        assert lines[number - 1].startswith("s_waitcnt")
        assert "lgkmcnt(0)" in lines[number - 1]

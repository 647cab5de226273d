"""Find or build the module for a device; a build needs a compiler and a source tree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import crayon_hf
from crayon_hf.device.devices import MODULES
from crayon_hf.parity.compare.children import last_line
from crayon_hf.parity.speed.processes import Result

from .environment import said_by

_NAMES = {"cuda": "cuda", "rocm": "hip"}
"""The name of each kind of GPU in the build option `CRAYON_BUILD`."""
_PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import gpu_build
runtime = next(each for each in gpu_build.RUNTIMES if each.name == sys.argv[2])
compiler = gpu_build.find_compiler(runtime)
if compiler is None:
    sys.exit(f"no {runtime.compiler} was found")
archs = gpu_build.architectures(runtime, compiler)
print(compiler, ",".join(archs), flush=True)
print(gpu_build.build_module(runtime, compiler, archs, Path(sys.argv[3])))
"""


def source_tree() -> Path | None:
    """Return a source tree: the imported package's, or else the working directory. None if neither is one."""
    places = [Path(crayon_hf.__file__).parents[1], Path.cwd()]
    return next((place.resolve() for place in places if (place / "cpp" / "gpu" / "device.h").is_file()), None)


def is_built(kind: str) -> bool:
    """Whether the package has the module for this kind of GPU."""
    return find_spec(MODULES[kind]) is not None


def kinds_here() -> list[str]:
    """Return the kinds of GPU (``cuda``, ``rocm``) that this machine seems to have.

    Drivers are not called, since they may hang.
    """
    found = []
    if os.path.exists("/dev/nvidiactl") or re.search(r"^GPU \d", said_by(["nvidia-smi", "-L"]), re.MULTILINE):
        found.append("cuda")
    return [*found, "rocm"] if os.path.exists("/dev/kfd") else found


def build(kind: str, source: Path | None, directory: Path, seconds: float) -> Result:
    """Build the module into the directory, as tools/gpu_build.py does. Return the result.

    The package is unchanged: a process that is given the directory finds the module there.
    """
    advice = (
        f"this build has no engine for {kind}: with {'nvcc' if kind == 'cuda' else 'hipcc'} and a source tree, "
        f"CRAYON_BUILD={_NAMES[kind]} pip install . builds it (CONTRIBUTING.md, The GPU engines)"
    )
    if source is None:
        return {"status": "failed", "says": f"{advice}; no source tree is here"}
    directory.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    command = [sys.executable, "-c", _PROGRAM, str(source / "tools"), _NAMES[kind], str(directory)]
    try:
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "failed", "says": f"{advice}; a build here took over {seconds:.0f} s"}
    found: Result = {"seconds": time.monotonic() - started, "log": (done.stdout + done.stderr)[-4000:]}
    if done.returncode != 0:
        return {**found, "status": "failed", "says": f"{advice}; a build here failed: {last_line(done.stderr)}"}
    compiler, _, archs = done.stdout.partition("\n")[0].rpartition(" ")
    return {**found, "status": "ok", "says": f"built here for {archs}, by {compiler}"}

"""The step "environment": the conditions of a run. Facts that cannot be found out are left out."""

from __future__ import annotations

import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import crayon_hf
from crayon_hf import _core
from crayon_hf.device.devices import MODULES
from crayon_hf.parity.speed.machine import cpu_model
from crayon_hf.parity.speed.processes import all_cores

from .child import Context
from .sizes import STAND_IN

_SECONDS = 20
_NVIDIA = "name,driver_version,memory.total,compute_cap,clocks.max.sm,clocks.max.memory,power.limit,ecc.mode.current"
_TOOLS = {
    "nvidia-smi": (f"--query-gpu={_NVIDIA}", "--format=csv"),
    "rocm-smi": ("--showproductname", "--showdriverversion", "--showmeminfo", "vram"),
    **dict.fromkeys(("nvcc", "hipcc", "compute-sanitizer", "c++"), ("--version",)),
}


def of_the_machine(source: Path | None) -> dict[str, Any]:
    """Return facts that need no device: the processor, versions, this build, and the output of tools."""
    built = Path(_core.__file__)
    return {
        "cpu": cpu_model(),
        "cores": len(all_cores()),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "crayon_hf": crayon_hf.__version__,
        "build": {
            "engine": str(built),
            "built": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(built.stat().st_mtime)),
            "cpu_levels": _core.cpu_levels(),
            "commit": said_by(["git", "-C", str(source), "describe", "--always", "--dirty"]) if source else "",
        },
        "tools": {name: said_by([name, *arguments]) for name, arguments in _TOOLS.items() if shutil.which(name)},
    }


def run(name: str, context: Context) -> dict[str, Any]:
    """Return facts about the opened device, and about torch if it is installed."""
    free, total = _core._testing.memory(context.device)
    found: dict[str, Any] = {"memory": total, "free_memory": free}
    if context.is_stand_in:
        return {**found, "called": "the CPU runs the kernels, lane by lane", "architecture": STAND_IN}
    kind, _, index = context.name.partition(":")
    module: Any = import_module(MODULES[kind])
    _, called, memory, architecture = module.devices()[int(index or 0)]
    found |= {"called": called, "memory": memory, "architecture": architecture, "versions": module.versions()}
    with suppress(ImportError):
        import torch

        runtime = getattr(torch.version, "hip", None) or torch.version.cuda or "no GPU runtime"
        found["torch"] = f"{torch.__version__} ({runtime}), with a device: {torch.cuda.is_available()}"
    return {**found, "module": str(module.__file__)}


def said_by(command: Sequence[str]) -> str:
    """Run a command, and return its output or its error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"
    return (done.stdout.strip() or done.stderr.strip())[:4000]

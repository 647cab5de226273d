"""Devices that the tests of the kernels run on.

`host` runs one lane after the other; the simulators run the branches that a GPU's compilers take, lane by lane in an
order of chance (cpp/gpu_simulator); `cuda` and `rocm` are GPUs.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import sys
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import gpu_simulator
import pytest
from native_build import load_extension

from crayon_hf import _core


@dataclass(frozen=True)
class GpuDevice:
    name: str
    runtime: str = ""  # of a simulator: whose branches
    warp: int = 32
    seed: int = 0

    @property
    def is_simulated(self) -> bool:
        return self.runtime != ""

    @property
    def has_host_memory(self) -> bool:
        return self.name not in ("cuda", "rocm")

    @property
    def label(self) -> str:
        """As arrays on it have it."""
        return "host:0" if self.has_host_memory else f"{self.name}:0"

    def some(self, count: int) -> int:
        """What a test has `count` of: fewer where each costs a hundred times as much."""
        return max(1, count // 12) if self.is_simulated else count

    def with_seed(self, seed: int) -> GpuDevice:
        return replace(self, seed=seed)

    def open(self, budget: int = 1 << 30) -> Any:
        """For `_core.DeviceEncoder`. `budget`: bytes of memory, of what is no GPU. Skips where there is none."""
        if self.name == "host":
            return _core._testing.host_device(budget)
        if self.is_simulated:
            return simulator().open(budget, runtime=self.runtime, warp=self.warp, seed=self.seed)
        try:
            module = importlib.import_module({"cuda": "crayon_hf._cuda", "rocm": "crayon_hf._hip"}[self.name])
        except ImportError as error:
            pytest.skip(f"there is no engine for {self.name}: {error}")
        if why := module.why_unusable():
            pytest.skip(f"{self.name}: {why}")
        return module.open(0)


HOST = GpuDevice("host")
SIMULATORS = (
    GpuDevice("simulator", "cuda", 32),
    GpuDevice("simulator-hip-32", "hip", 32),
    GpuDevice("simulator-hip-64", "hip", 64),
)
KNOWN = {device.name: device for device in (HOST, *SIMULATORS, GpuDevice("cuda"), GpuDevice("rocm"))}


def chosen() -> list[Any]:
    """Those that CRAYON_TEST_DEVICES lists, for ``parametrize``; without it, what every machine has."""
    names = os.environ.get("CRAYON_TEST_DEVICES")
    if names is None:
        return [HOST, pytest.param(KNOWN["simulator"], marks=pytest.mark.slow)]
    return [KNOWN[name.strip()] for name in names.split(",")]


@functools.cache
def simulator() -> ModuleType:
    """Its module, built when it is first asked for."""
    if not sys.platform.startswith("linux") or shutil.which(gpu_simulator.compiler()[0]) is None:
        pytest.skip("the simulator is for Linux with a C++ compiler")
    return load_extension(gpu_simulator.build())

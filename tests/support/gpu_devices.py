"""The devices on which tests run the GPU kernels.

- `host` runs the kernels on the CPU, one lane after the other.
- The simulators run the code that GPU compilers see, on the CPU, lane by lane in random order (cpp/gpu_simulator).
- `cuda` and `rocm` are GPUs.
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

from crayon_hf import Tokenizer, _core


@dataclass(frozen=True)
class GpuDevice:
    name: str
    runtime: str = ""  # the GPU compiler whose preprocessor branches a simulator runs
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
        """The device's name in the arrays that it returns."""
        return "host:0" if self.has_host_memory else f"{self.name}:0"

    def some(self, count: int) -> int:
        """Scale a test's `count` down on simulators, which are a hundred times slower."""
        return max(1, count // 12) if self.is_simulated else count

    def with_seed(self, seed: int) -> GpuDevice:
        return replace(self, seed=seed)

    def open(self, budget: int = 1 << 30) -> Any:
        """Open the device for `_core.DeviceEncoder`; skip the test if the device is missing. `budget` is the memory in
        bytes of the host and of simulators."""
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
    """The devices that CRAYON_TEST_DEVICES lists, for ``parametrize``. By default the host and, marked slow, a
    simulator."""
    names = os.environ.get("CRAYON_TEST_DEVICES")
    if names is None:
        return [HOST, pytest.param(KNOWN["simulator"], marks=pytest.mark.slow)]
    return [KNOWN[name.strip()] for name in names.split(",")]


@functools.cache
def simulator() -> ModuleType:
    """The simulator's extension module, built at its first use."""
    if not sys.platform.startswith("linux") or shutil.which(gpu_simulator.compiler()[0]) is None:
        pytest.skip("the simulator is for Linux with a C++ compiler")
    return load_extension(gpu_simulator.build())


def engine_of(path: Any) -> _core.Engine:
    """The engine of the tokenizer.json at `path`."""
    engine = Tokenizer.from_file(path)._current_engine()
    assert isinstance(engine, _core.Engine)
    return engine

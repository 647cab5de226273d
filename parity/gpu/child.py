"""The process that uses the device, and the context of its tasks: the device, and encoders on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import crayon_hf
from crayon_hf import _core
from crayon_hf.device import devices
from crayon_hf.parity.speed.child.serve import Result, Task, serve

from .sizes import STAND_IN, Sizes

_STAND_IN_BYTES = 1 << 36
STEPS = {"environment": "environment", "ids": "ids", "repeats": "repeats", "sanitizer": "ids", "speed": "speed"}
"""The name of the module that runs the tasks of each step."""


def add_modules(directory: str) -> None:
    """Make the device modules in a directory importable as part of the package."""
    if directory and directory not in crayon_hf.__path__:
        crayon_hf.__path__.append(directory)


class Context:
    """The parts that all tasks of a job share: its device, its options, and the last encoder on the device."""

    def __init__(self, job: dict[str, Any], note: Callable[..., None]) -> None:
        self.note = note
        """Reports progress within a task."""
        self.name: str = job["device"]
        """``cuda:0``, ``rocm:0``, or ``stand-in``."""
        self.is_stand_in = self.name == STAND_IN
        self.sizes = Sizes(**job["sizes"])
        self.named: list[str] = job["named"]
        """The vocabularies that are timed."""
        self.limit: float = job["task_limit"]
        self.output = Path(job["output"])
        self._vocabularies = Path(job["vocabularies"])
        add_modules(job["modules"])
        if self.is_stand_in:
            self.device: Any = _core._testing.host_device(_STAND_IN_BYTES)
        else:
            self.device = devices.open_device(*devices.parse(self.name))
        self._make: Callable[..., _core.DeviceEncoder] = _core.DeviceEncoder
        if job["ours"]:  # set by a test
            module, _, name = job["ours"].partition(":")
            self._make = getattr(import_module(module), name)
        self._kept: tuple[Any, _core.DeviceEncoder] | None = None

    def path_of(self, subject: str) -> Path:
        """Return the path of a vocabulary's cartridge."""
        return self._vocabularies / f"{subject}.dat"

    @lru_cache(maxsize=64)  # noqa: B019  the object lives as long as the process
    def engine(self, subject: str, greedy: bool = False) -> _core.Engine:
        """Return the CPU's engine for a vocabulary, whose ids are the expected ones."""
        return self.engine(subject).greedy() if greedy else _core.Engine.open(str(self.path_of(subject)))

    def encoder(self, subject: str, greedy: bool = False, **how: Any) -> _core.DeviceEncoder:
        """Return the device's encoder for a vocabulary and the options `how`.

        Only the last encoder is kept, since the memory may have room for only one.
        """
        wanted = subject, greedy, tuple(sorted(how.items()))
        if self._kept is None or self._kept[0] != wanted:
            self._kept = None
            self._kept = wanted, self.new_encoder(subject, greedy, **how)
        return self._kept[1]

    def new_encoder(self, subject: str, greedy: bool = False, device: Any = None, **how: Any) -> _core.DeviceEncoder:
        """Return a new encoder that the caller keeps, on another device if given."""
        return self._make(self.engine(subject, greedy), device or self.device, **how)

    def drop(self) -> None:
        """Release the memory of the last encoder."""
        self._kept = None


def _begin(job: dict[str, Any], note: Callable[..., None]) -> tuple[Result, Callable[[Task], Result]]:
    context = Context(job, note)
    run = import_module(f".{STEPS[job['step']]}", __package__).run
    return {}, lambda task: run(task["name"], context)


def main() -> int:
    """Read a job from the standard input, and do its tasks."""
    return serve(_begin)

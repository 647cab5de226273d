"""What the tasks of a child process use: the device, and encoders on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import crayon_hf
from crayon_hf import _core
from crayon_hf.device import devices

from .sizes import Sizes

STAND_IN = "stand-in"
_STAND_IN_BYTES = 1 << 36


class Skipped(Exception):
    """A task that cannot be done here; the text says why."""


@dataclass(frozen=True)
class Job:
    """What a child process gets, as JSON."""

    step: str
    tasks: tuple[str, ...]
    device: str
    """``cuda:0``, ``rocm:0``, or ``stand-in``."""
    sizes: Sizes
    named: tuple[str, ...]
    """The vocabularies that are timed."""
    vocabularies: str
    """The directory of all cartridges."""
    output: str
    """The user's directory."""
    events: str
    """The file for what happens."""
    seconds: float
    """After so many, no further task is begun."""
    limit: float
    """Seconds from which on a task counts as one that hangs."""
    source: str = ""
    """A source tree, if there is one."""
    modules: str = ""
    """A directory with a module for the device that is not part of the package."""
    ours: str = ""
    """``module:function`` that makes encoders in the place of `_core.DeviceEncoder`: for tests."""

    def to_json(self) -> dict[str, Any]:
        """As it is sent."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Job:
        """As it was sent."""
        return cls(**{**_with_tuples(data), "sizes": Sizes(**_with_tuples(data["sizes"]))})


def _with_tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}


def open_device(device: str, modules: str = "") -> Any:
    """The device in a capsule. DeviceError when it cannot be had."""
    if device == STAND_IN:
        return _core._testing.host_device(_STAND_IN_BYTES)
    add_modules(modules)
    return devices.open_device(*devices.parse(device))


def add_modules(directory: str) -> None:
    """Import modules of devices that are there as if they were part of the package."""
    if directory and directory not in crayon_hf.__path__:
        crayon_hf.__path__.append(directory)


class Context:
    """The device of a job, and the last encoder on it."""

    def __init__(self, job: Job, note: Callable[[dict[str, Any]], None] = lambda event: None) -> None:
        self.job = job
        self.note = note
        """Tells how far a task is, and that it goes on."""
        self.is_stand_in = job.device == STAND_IN
        self.device = open_device(job.device, job.modules)
        self.source = Path(job.source) if job.source else None
        self.output = Path(job.output)
        self._make: Callable[..., _core.DeviceEncoder] = _core.DeviceEncoder
        if job.ours:
            module, _, name = job.ours.partition(":")
            self._make = getattr(import_module(module), name)
        self._kept: tuple[Any, _core.DeviceEncoder] | None = None

    def path_of(self, subject: str) -> Path:
        """The cartridge of a vocabulary."""
        return Path(self.job.vocabularies) / f"{subject}.dat"

    @lru_cache(maxsize=64)  # noqa: B019  it lives as long as the process
    def engine(self, subject: str, greedy: bool = False) -> _core.Engine:
        """The CPU's engine."""
        return self.engine(subject).greedy() if greedy else _core.Engine.open(str(self.path_of(subject)))

    def encoder(self, subject: str, greedy: bool = False, **how: Any) -> _core.DeviceEncoder:
        """The device's. The last one is kept, and no other, so that the memory is there for one."""
        wanted = subject, greedy, tuple(sorted(how.items()))
        if self._kept is None or self._kept[0] != wanted:
            self._kept = None
            self._kept = wanted, self._make(self.engine(subject, greedy), self.device, **how)
        return self._kept[1]

    def new_encoder(self, subject: str, greedy: bool = False, device: Any = None, **how: Any) -> _core.DeviceEncoder:
        """One that the caller keeps; on another device if one is given."""
        return self._make(self.engine(subject, greedy), self.device if device is None else device, **how)

    def drop(self) -> None:
        """Give back the memory of the last encoder."""
        self._kept = None

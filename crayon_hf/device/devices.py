"""Choose the device that encodes, by CRAYON's names and rules, among the devices with an engine in this build.

A GPU engine is an extension module, ``crayon_hf._cuda`` or ``crayon_hf._hip``, which may be missing. It is imported
when a GPU is asked for, or for ``auto``. Its interface:

- ``devices()``: (index, name, bytes of memory, architecture) of each usable device;
- ``why_unusable()``: the reason why the module finds no usable device, or an empty string;
- ``open(index)``: a device for `_core.DeviceEncoder`; raises `DeviceError`.
"""

from __future__ import annotations

import os
import platform
import re
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple, TypedDict, cast

from crayon_hf import _core
from crayon_hf.device import engines
from crayon_hf.errors import DeviceUnavailableError

DEVICES = ("auto", "cpu", "cuda", "rocm")

MODULES = {"cuda": "crayon_hf._cuda", "rocm": "crayon_hf._hip"}
"""The modules of GPU devices, best first."""

_SAME = "the CPU encodes, with the same ids"
_INSTEAD = '"auto" takes the best available device, and "cpu" gives the same ids'


class DeviceState(str, Enum):
    """The result of a request for a device."""

    UNINITIALIZED = "uninitialized"
    READY = "ready"
    FAILED = "failed"
    FALLBACK = "fallback"


class HardwareInfo(NamedTuple):
    """The processor that encodes."""

    device: str
    name: str
    features: str


class Capacity(TypedDict, total=False):
    """The size of the partitions into which `_core.DeviceEncoder` divides a batch: see `capacity`."""

    elements: int
    margin: int


class Choice(NamedTuple):
    """The device chosen for a request, and the reason."""

    requested: str
    device: str
    state: DeviceState
    reason: str
    ordinal: int = 0

    @property
    def name(self) -> str:
        """``"cpu"``, or the device with its index, like torch's."""
        return self.device if self.device == "cpu" else f"{self.device}:{self.ordinal}"

    def fallen_back(self, why: str) -> Choice:
        """The choice of the CPU instead of this device, for the reason `why`."""
        return Choice(self.requested, "cpu", DeviceState.FALLBACK, f"{why}: {_SAME}")


def choose(requested: str) -> Choice:
    """The device for a request: ``auto``, ``cpu``, or ``cuda`` or ``rocm``, with or without an index (``cuda:1``).

    ``CRAYON_DEVICE`` replaces ``auto`` only. If a device is unavailable, the CPU is chosen.
    """
    kind, index = parse(requested, "device")
    source = "as asked"
    if kind == "auto" and (variable := os.environ.get("CRAYON_DEVICE", "").strip().lower()):
        kind, index = parse(variable, "CRAYON_DEVICE")
        source = f"CRAYON_DEVICE is {variable}"
    if kind == "auto":
        return _best(requested)
    why = "" if kind == "cpu" else why_not(kind, index)
    if why:
        return Choice(requested, "cpu", DeviceState.FALLBACK, f"{source}, but {why}: {_SAME}")
    return Choice(requested, kind, DeviceState.READY, source, index)


def parse(device: Any, what: str = "device") -> tuple[str, int]:
    """Split the name of a device into (kind, index). ValueError lists the valid names."""
    if isinstance(device, str):
        kind, colon, index = device.partition(":")
        if kind in DEVICES and (not colon or (kind in MODULES and re.fullmatch("[0-9]{1,4}", index))):
            return kind, int(index or 0)
    raise ValueError(f"{what} is {device!r}, expected one of {', '.join(DEVICES)}")


def why_not(kind: str, index: int) -> str:
    """Return why a GPU cannot be used, and how to get a missing engine; return "" if the GPU can be used."""
    if not _is_built(kind):
        return engines.why_missing(kind)
    if _forked:
        return f"this process was forked after a search for {kind} devices, so it cannot use them"
    try:
        module = _module(kind)
    except ImportError as error:  # a library of the runtime is missing
        return f"the engine for {kind} cannot be loaded ({error})"
    why: str = module.why_unusable()
    if why:
        return f"{kind} cannot be used ({why})"
    count = len(module.devices())
    return "" if index < count else f"{kind}:{index} was not found among {count} devices"


def engine_facts() -> dict[str, str]:
    """Return for each kind of GPU its engine's architectures, or why this build lacks the engine and how to get it."""
    facts = {}
    for kind in MODULES:
        archs = ", ".join(engines.architectures(kind)) or "architectures that are not recorded"
        facts[kind] = f"built for {archs}" if _is_built(kind) else engines.why_missing(kind)
    return facts


def open_device(kind: str, index: int) -> Any:
    """A device for `_core.DeviceEncoder`. Raises DeviceUnavailableError."""
    if why := why_not(kind, index):
        raise DeviceUnavailableError(f"{kind}:{index}: {why}; {_INSTEAD}")
    return _module(kind).open(index)


def capacity() -> Capacity:
    """The size of the partitions into which `_core.DeviceEncoder` divides a batch. Ids do not depend on this size.

    ``CRAYON_DEVICE_ELEMENTS`` is the most ids of a partition (default 2^29), lowered to fit the device's free memory. A
    text counts as one id for each of its bytes, and ``CRAYON_DEVICE_MARGIN`` more (default 64). The CRAYON paper has
    the same defaults.
    """
    sizes = {}
    for name in ("elements", "margin"):
        variable = f"CRAYON_DEVICE_{name.upper()}"
        if value := os.environ.get(variable, "").strip():
            if not re.fullmatch("[0-9]{1,9}", value) or (name == "elements" and int(value) == 0):
                raise ValueError(f"{variable} is not a number from {int(name == 'elements')} to 999999999: {value}")
            sizes[name] = int(value)
    return cast("Capacity", sizes)


def hardware(device: str, index: int = 0) -> HardwareInfo:
    """The processor behind a device."""
    if device == "cpu":
        return HardwareInfo(device, _cpu_name(), _core.cpu_levels()[-1])
    _, name, _, architecture = _module(device).devices()[index]
    return HardwareInfo(device, name, architecture)


def _best(requested: str) -> Choice:
    missing = []
    for kind in MODULES:
        if not _is_built(kind) and not engines.is_missed(kind):
            continue
        why = why_not(kind, 0)
        if not why:
            name = hardware(kind).name
            return Choice(requested, kind, DeviceState.READY, f"the best device that can be used: {name}")
        missing.append(why)
    reason = "; ".join(["the best device that this build has an engine for", *missing])
    return Choice(requested, "cpu", DeviceState.READY, reason)


_asked = _forked = False


def _is_built(kind: str) -> bool:
    try:
        _module(kind)
    except ImportError as error:
        return error.name != MODULES[kind]  # otherwise a library of the runtime is missing
    return True


def _module(kind: str) -> Any:
    """The engine of a kind of device. Raises ImportError if this build lacks it or it cannot be loaded."""
    global _asked
    module = import_module(MODULES[kind])
    _asked = True
    return module


def _after_fork() -> None:
    global _forked
    _forked = _asked  # drivers do not survive a fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown CPU"

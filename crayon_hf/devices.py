"""Which device encodes. CRAYON's names and rules; so far every one of them ends at the CPU, with the same ids."""

from __future__ import annotations

import os
import platform
from enum import Enum
from typing import NamedTuple

from crayon_hf import _core

DEVICES = ("auto", "cpu", "cuda", "rocm")

_BUILT = ("cpu",)
"""The devices that this build has an engine for, best first."""


class DeviceState(str, Enum):
    """What became of a request for a device."""

    UNINITIALIZED = "uninitialized"
    READY = "ready"
    FAILED = "failed"
    FALLBACK = "fallback"


class HardwareInfo(NamedTuple):
    """What encodes."""

    device: str
    name: str
    features: str


class Choice(NamedTuple):
    """The device that a request led to, and why."""

    requested: str
    device: str
    state: DeviceState
    reason: str


def choose(requested: str) -> Choice:
    """The device for a request. ``CRAYON_DEVICE`` stands in for ``auto``, and for nothing else."""
    _check(requested, "device")
    wanted, source = requested, "as asked"
    if requested == "auto" and (variable := os.environ.get("CRAYON_DEVICE", "").strip().lower()):
        _check(variable, "CRAYON_DEVICE")
        wanted, source = variable, f"CRAYON_DEVICE is {variable}"
    if wanted == "auto":
        return Choice(requested, _BUILT[0], DeviceState.READY, "the best device that this build has an engine for")
    if wanted in _BUILT:
        return Choice(requested, wanted, DeviceState.READY, source)
    reason = f"{source}, but this build has no engine for {wanted}: the CPU encodes, with the same ids"
    return Choice(requested, "cpu", DeviceState.FALLBACK, reason)


def hardware(device: str) -> HardwareInfo:
    """The processor behind a device."""
    return HardwareInfo(device, _cpu_name(), _core.cpu_levels()[-1])


def _check(device: str, what: str) -> None:
    if device not in DEVICES:
        raise ValueError(f"{what} is {device!r}, expected one of {', '.join(DEVICES)}")


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown CPU"

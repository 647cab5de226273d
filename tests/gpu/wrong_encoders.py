"""GPU encoders with known defects, which `python -m parity.gpu --ours` must find. Its child processes import them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from crayon_hf import _core


def of_another_vocabulary(engine: _core.Engine, device: Any, **how: Any) -> Any:
    """An encoder that returns the ids of another vocabulary, which WRONG_VOCABULARY names."""
    other = _core.Engine.open(os.environ["WRONG_VOCABULARY"])
    return _core.DeviceEncoder(other.greedy() if engine.mode == "greedy" else other, device, **how)


class _Failing:
    """An encoder that calls `fail` instead of encoding in greedy mode."""

    def __init__(self, fail: Callable[[], object], engine: _core.Engine, device: Any, **how: Any) -> None:
        self._inner = _core.DeviceEncoder(engine, device, **how)
        self.encode_ragged = self._inner.encode_ragged if engine.mode == "exact" else lambda *_: fail()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


Crashing = partial(_Failing, lambda: os.kill(os.getpid(), signal.SIGSEGV))
Hanging = partial(_Failing, lambda: time.sleep(10_000))

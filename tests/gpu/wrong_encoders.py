"""GPU encoders with known defects, which `python -m parity.gpu --ours` must find. Its child processes import them."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from crayon_hf import _core


def of_another_vocabulary(engine: _core.Engine, device: Any, **how: Any) -> Any:
    """An encoder that returns the ids of another vocabulary, which WRONG_VOCABULARY names."""
    other = _core.Engine.open(os.environ["WRONG_VOCABULARY"])
    return _core.DeviceEncoder(other.greedy() if engine.mode == "greedy" else other, device, **how)


class _Failing:
    def __init__(self, engine: _core.Engine, device: Any, **how: Any) -> None:
        self._inner, self._is_greedy = _core.DeviceEncoder(engine, device, **how), engine.mode == "greedy"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def encode_ragged(self, *arguments: Any) -> Any:
        if self._is_greedy:
            self.fail()
        return self._inner.encode_ragged(*arguments)

    def fail(self) -> None:
        raise NotImplementedError


class Crashing(_Failing):
    """An encoder that ends the process in greedy mode."""

    def fail(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class Hanging(_Failing):
    """An encoder that never returns in greedy mode."""

    def fail(self) -> None:
        time.sleep(10_000)

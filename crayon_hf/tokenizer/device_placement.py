"""Chooses the device (a GPU or the CPU) that encodes the batches of a tokenizer, with the CPU as fallback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

from crayon_hf import _core
from crayon_hf.device import devices
from crayon_hf.device.devices import Choice, DeviceState
from crayon_hf.errors import (
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DeviceUnavailableError,
    DeviceWarning,
)
from crayon_hf.tokenizer_state import state
from crayon_hf.util.warned import warn_caller

_Result = TypeVar("_Result")

_FOR_GOOD = (DeviceLostError, DeviceOutOfMemoryError, DeviceUnavailableError)
"""After these errors the request ``auto`` no longer uses the device. After other errors, only the call uses the CPU."""

_PAYS_FROM = 1 << 16
"""The number of characters of a batch from which ``auto`` uses a GPU.

A GPU needs about thirty kernels and four waits for each part of a batch, which take a fraction of a millisecond. In
that time, the CPU encodes this number of characters.
"""


class Placement:
    """A request for a device, ``auto`` or a name, and the device that serves it. Thread-safe.

    If a device that ``auto`` chose fails, the CPU encodes instead, with one warning: only this batch, or after an error
    of `_FOR_GOOD` all batches. A device that was requested by name raises `DeviceError`. In both cases the CPU encodes
    vocabularies that no GPU supports.
    """

    def __init__(self, requested: str, is_strict: bool = True) -> None:
        """Record the request; no device is opened yet.

        Unless `is_strict`, the CPU replaces an unavailable device even if it was requested by name.
        """
        devices.parse(requested)
        self.requested = requested
        self._is_strict = is_strict
        self._choice: Choice | None = None
        self._kept: tuple[Any, _core.DeviceEncoder] | None = None
        self._has_warned = False

    def copy(self) -> Placement:
        """Return a copy that shares the open device encoder of this one."""
        twin = Placement(self.requested, self._is_strict)
        twin._choice, twin._kept, twin._has_warned = self._choice, self._kept, self._has_warned
        return twin

    @property
    def is_auto(self) -> bool:
        """Whether ``auto`` was requested instead of a device's name."""
        return self.requested == "auto"

    def choice(self, engine: Any = None) -> Choice:
        """Return the device that encodes, and why. With `engine`, consider whether a GPU supports its vocabulary."""
        choice = self._choice
        if choice is None:
            choice = self._choice = devices.choose(self.requested)
        if choice.device == "cpu" or engine is None or not (why := _why_not(engine)):
            return choice
        if self.is_auto:
            return Choice(self.requested, "cpu", DeviceState.READY, f"no device supports this vocabulary: {why}")
        return choice.fallen_back(f"no device supports this vocabulary: {why}")

    def prepare(self, engine: Any) -> None:
        """Open the device and upload the vocabulary now, instead of at the first batch."""
        self._on_device(engine, lambda encoder: None)

    def try_ragged(
        self, engine: Any, texts: Any, special: bool, as_text: bool, threads: int, as_device_arrays: bool
    ) -> Any:
        """Return (ids, row_splits) of `encode_ragged`, or None if the CPU has to encode or is faster (``auto``)."""
        if self.is_auto and not as_device_arrays and not _pays(texts):
            return None
        return self._on_device(
            engine, lambda encoder: encoder.encode_ragged(texts, special, as_text, threads, as_device_arrays)
        )

    def try_flat(
        self, engine: Any, data: Any, offsets: Any, special: bool, as_text: bool, as_device_arrays: bool
    ) -> Any:
        """Return (ids, row_splits) of `encode_flat`, or None if the CPU has to encode."""
        return self._on_device(
            engine, lambda encoder: encoder.encode_flat(data, offsets, special, as_text, as_device_arrays)
        )

    def try_counts(self, engine: Any, texts: Any, special: bool, as_text: bool, threads: int) -> list[int] | None:
        """Return the counts of `count_tokens`, or None if the CPU has to count. Ids stay on the device."""
        made = self.try_ragged(engine, texts, special, as_text, threads, True) if self._is_worth(texts) else None
        if made is None:
            return None
        splits = made[1].numpy()
        counts: list[int] = (splits[1:] - splits[:-1]).tolist()
        return counts

    def try_rows(self, engine: Any, texts: list[str]) -> list[list[int]] | None:
        """Return a list of ids for each text, without special tokens, or None if the CPU has to encode."""
        made = self.try_ragged(engine, texts, False, False, 0, False)
        return None if made is None else rows_of(*made)

    # -- inside

    def _is_worth(self, texts: Any) -> bool:
        return not self.is_auto or _pays(texts)

    def _on_device(self, engine: Any, work: Callable[[_core.DeviceEncoder], _Result]) -> _Result | None:
        try:
            encoder = self._encoder(engine)
            return None if encoder is None else work(encoder)
        except DeviceError as error:
            if not self.is_auto:
                raise
            fallen_back = self.choice().fallen_back(str(error))
            if isinstance(error, _FOR_GOOD):
                self._choice, self._kept = fallen_back, None
            self._warn(fallen_back.reason)
            return None

    def _encoder(self, engine: Any) -> _core.DeviceEncoder | None:
        kept = self._kept
        if kept is not None and kept[0] is engine:
            return kept[1]
        choice = self.choice()
        if choice.device == "cpu":
            if choice.state is DeviceState.FALLBACK and self._is_strict and not self.is_auto:
                self._choice = None  # the device may be available at the next call
                devices.open_device(*devices.parse(self.requested))
            return None
        if _why_not(engine):
            if not self.is_auto:
                self._warn(self.choice(engine).reason)
            return None
        with state.lock:
            kept = self._kept
            if kept is None or kept[0] is not engine:
                self._kept = None  # free the old vocabulary's memory before the upload
                device = devices.open_device(choice.device, choice.ordinal)
                kept = self._kept = engine, _core.DeviceEncoder(engine, device, **devices.capacity())
        return kept[1]

    def _warn(self, message: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn_caller(message, DeviceWarning)


def name_of(device: Any) -> str:
    """Return the name of a device that a user gives as a str or as a torch.device."""
    if type(device).__module__ == "torch" and type(device).__name__ == "device":
        device = str(device)
    devices.parse(device)
    name: str = device
    return name


def rows_of(ids: Any, splits: Any) -> list[list[int]]:
    """Return a list of ids for each text, from the two arrays of `encode_ragged`."""
    flat, ends = ids.tolist(), splits.tolist()
    return [flat[begin:end] for begin, end in pairwise(ends)]


def _why_not(engine: Any) -> str:
    if not isinstance(engine, _core.Engine):
        return f"the engine does not support it ({engine.reason})"
    return _core.why_not_on_device(engine)


def _pays(texts: Iterable[Any]) -> bool:
    size = 0
    try:
        for text in texts:
            size += len(text)
            if size >= _PAYS_FROM:
                return True
    except TypeError:
        pass  # encoding on the CPU reports the error
    return False

"""Where a tokenizer encodes its batches: a device, the encoder of its engine there, and what the CPU does instead."""

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
"""After these, ``auto`` leaves a device. Other failures are those of one call."""

_PAYS_FROM = 1 << 16
"""Characters of a batch from which on ``auto`` uses a GPU. A partition takes some thirty kernels and four waits, a
fraction of a millisecond, in which the CPU has encoded as much."""


class Placement:
    """One request for a device. Any number of threads may use it; a device encodes one batch at a time.

    With ``auto``, a device that fails gives way to the CPU, with one warning: for one batch where only a call failed,
    else for good. A device that was asked for by its name raises `DeviceError`. A vocabulary that no GPU encodes is the
    CPU's in either case.
    """

    def __init__(self, requested: str, is_strict: bool = True) -> None:
        """Nothing is looked for or opened yet. Unless `is_strict`, the CPU takes the place of a device that cannot be
        had although it was asked for by its name."""
        devices.parse(requested)
        self.requested = requested
        self._is_strict = is_strict
        self._choice: Choice | None = None
        self._kept: tuple[Any, _core.DeviceEncoder] | None = None
        self._has_warned = False

    def copy(self) -> Placement:
        """Another one, which begins with the encoder that this one has."""
        twin = Placement(self.requested, self._is_strict)
        twin._choice, twin._kept, twin._has_warned = self._choice, self._kept, self._has_warned
        return twin

    @property
    def is_auto(self) -> bool:
        """True when the device was not asked for by its name."""
        return self.requested == "auto"

    def choice(self, engine: Any = None) -> Choice:
        """The device that encodes, and why; with this engine, if one is given."""
        choice = self._choice
        if choice is None:
            choice = self._choice = devices.choose(self.requested)
        if choice.device == "cpu" or engine is None or not (why := _why_not(engine)):
            return choice
        if self.is_auto:
            return Choice(self.requested, "cpu", DeviceState.READY, f"no device supports this vocabulary: {why}")
        return choice.fallen_back(f"no device supports this vocabulary: {why}")

    def prepare(self, engine: Any) -> None:
        """Do now what the first batch would do: open the device, and give it the vocabulary."""
        self._on_device(engine, lambda encoder: None)

    def try_ragged(
        self, engine: Any, texts: Any, special: bool, as_text: bool, threads: int, as_device_arrays: bool
    ) -> Any:
        """(ids, row_splits) of `encode_ragged`; None when the CPU has to, or ``auto`` finds that it is quicker."""
        if self.is_auto and not as_device_arrays and not _pays(texts):
            return None
        return self._on_device(
            engine, lambda encoder: encoder.encode_ragged(texts, special, as_text, threads, as_device_arrays)
        )

    def try_flat(
        self, engine: Any, data: Any, offsets: Any, special: bool, as_text: bool, as_device_arrays: bool
    ) -> Any:
        """(ids, row_splits) of `encode_flat`; None when the CPU has to."""
        return self._on_device(
            engine, lambda encoder: encoder.encode_flat(data, offsets, special, as_text, as_device_arrays)
        )

    def try_counts(self, engine: Any, texts: Any, special: bool, as_text: bool, threads: int) -> list[int] | None:
        """The counts of `count_tokens`; None when the CPU has to. Ids do not leave the device."""
        made = self.try_ragged(engine, texts, special, as_text, threads, True) if self._is_worth(texts) else None
        if made is None:
            return None
        splits = made[1].numpy()
        counts: list[int] = (splits[1:] - splits[:-1]).tolist()
        return counts

    def try_rows(self, engine: Any, texts: list[str]) -> list[list[int]] | None:
        """A list of ids for each text, without special tokens; None when the CPU has to."""
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
                self._choice = None  # it may be there the next time
                devices.open_device(*devices.parse(self.requested))
            return None
        if _why_not(engine):
            if not self.is_auto:
                self._warn(self.choice(engine).reason)
            return None
        with state.lock:
            kept = self._kept
            if kept is None or kept[0] is not engine:
                self._kept = None  # so that there is room for the other one
                device = devices.open_device(choice.device, choice.ordinal)
                kept = self._kept = engine, _core.DeviceEncoder(engine, device, **devices.capacity())
        return kept[1]

    def _warn(self, message: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn_caller(message, DeviceWarning)


def name_of(device: Any) -> str:
    """The name of a device as a user gives it: a str, or a torch.device."""
    if type(device).__module__ == "torch" and type(device).__name__ == "device":
        device = str(device)
    devices.parse(device)
    name: str = device
    return name


def rows_of(ids: Any, splits: Any) -> list[list[int]]:
    """The ids of each text in a list of its own."""
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
        pass  # the CPU says what is wrong
    return False

"""Encode a batch with the CPU's engine and with the device's: ids and splits, or the error that both must give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf import _core
from crayon_hf.errors import DeviceError

from .cases import Batch

Made = tuple[Any, Any]


@dataclass(frozen=True)
class Outcome:
    """The result of encoding a batch: ids and row splits, or an error's class and message."""

    ids: npt.NDArray[np.int32]
    splits: npt.NDArray[np.int64]
    error: str = ""

    def same_as(self, other: Outcome) -> bool:
        """Whether both outcomes are equal."""
        return (
            self.error == other.error
            and self.ids.dtype == other.ids.dtype
            and np.array_equal(self.splits, other.splits)
            and np.array_equal(self.ids, other.ids)
        )

    def of(self, text: int) -> list[int]:
        """Return the ids of one text, or an empty list after an error."""
        if self.error or text + 1 >= len(self.splits):
            return []
        ids: list[int] = self.ids[self.splits[text] : self.splits[text + 1]].tolist()
        return ids


def by_cpu(engine: _core.Engine, batch: Batch) -> Outcome:
    """Encode a batch with the CPU's engine, and return the expected outcome."""
    if batch.way == "list":
        return _outcome(lambda: engine.encode_ragged(batch.texts, batch.special, batch.as_text))
    data, offsets = flat(batch.texts)
    return _outcome(lambda: engine.encode_ranges(data, offsets[:-1], offsets[1:], batch.special, batch.as_text))


def by_device(encoder: _core.DeviceEncoder, device: Any, batch: Batch) -> Outcome:
    """Encode a batch with the device, and return its outcome. Raise DeviceError for errors of the device itself."""
    if batch.way == "list":
        return _outcome(lambda: encoder.encode_ragged(batch.texts, batch.special, batch.as_text))
    data, offsets = flat(batch.texts)
    if batch.way == "flat":
        return _outcome(lambda: encoder.encode_flat(data, offsets, batch.special, batch.as_text))
    there = _core._testing.on_device(device, data)

    def encoded() -> Made:
        ids, splits = encoder.encode_flat(there, offsets, batch.special, batch.as_text, as_device_arrays=True)
        return ids.numpy(), splits.numpy()

    return _outcome(encoded)


def flat(texts: Sequence[str | bytes]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Return the concatenated UTF-8 of the texts, and the offset of each text's start and of the end."""
    encoded = list(map(data_of, texts))
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(data) for data in encoded], out=offsets[1:])
    return b"".join(encoded), offsets


def data_of(text: str | bytes) -> bytes:
    """Return a text as UTF-8. Bytes are returned as they are."""
    return text if isinstance(text, bytes) else text.encode()


def differing_texts(expected: Outcome, got: Outcome, count: int, most: int) -> list[int]:
    """Return the indices of the first `most` texts whose ids differ. If a side raised an error, return only index 0."""
    if expected.error or got.error:
        return [0]
    return list(islice((text for text in range(count) if expected.of(text) != got.of(text)), most)) or [0]


def _outcome(work: Callable[[], Made]) -> Outcome:
    try:
        return Outcome(*work())
    except DeviceError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # InvalidUtf8Error is a ValueError
        return Outcome(np.empty(0, np.int32), np.zeros(1, np.int64), f"{type(error).__name__}: {error}")

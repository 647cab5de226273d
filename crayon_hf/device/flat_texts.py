"""Encode concatenated texts on the CPU."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from crayon_hf import _core

if TYPE_CHECKING:
    import numpy.typing as npt

    from crayon_hf.cartridges.opened_source import AnyEngine


def encode_on_cpu(
    engine: AnyEngine, data: Any, offsets: Any, special: bool, as_text: bool, threads: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Compute the result of `Tokenizer.encode_flat` on the CPU. Data in the memory of a GPU is copied first."""
    buffer, ends = _buffer(data), np.asarray(offsets)
    if ends.ndim != 1 or ends.size == 0:
        raise ValueError(f"offsets has shape {ends.shape}, expected one more offset than texts")
    if isinstance(engine, _core.Engine):
        ids, splits = engine.encode_ranges(buffer, ends[:-1], ends[1:], special, as_text, threads)
        return ids, splits
    view, listed = memoryview(buffer).cast("B"), ends.tolist()
    texts = [bytes(view[begin:end]) for begin, end in pairwise(listed)]
    return engine.encode_ragged(texts, special, as_text)


def _buffer(data: Any) -> Any:
    try:
        memoryview(data)
    except TypeError:
        if not hasattr(data, "__dlpack__"):
            raise TypeError(
                f"data is {type(data).__name__}, expected bytes, a buffer, or an array with __dlpack__"
            ) from None
        array = np.from_dlpack(data.cpu() if hasattr(data, "cpu") else data)
        if array.dtype not in (np.uint8, np.int8):
            raise TypeError(f"data is of {array.dtype}, expected uint8 or int8") from None
        if array.ndim != 1 or not array.flags.c_contiguous:
            raise ValueError("data is not one contiguous vector of bytes") from None
        return array
    return data

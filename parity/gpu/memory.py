"""What happens when the device's memory runs out: the right error or the right ids, and the right ids afterwards."""

from __future__ import annotations

from typing import Any

from crayon_hf import _core
from crayon_hf.errors import DeviceOutOfMemoryError

from .access import Context
from .cases import Batch
from .comparing import by_cpu, by_device

_LEFT = 64 << 20
"""Bytes that are left free, at most, besides the vocabulary's."""
_LEAST_BLOCK = 8 << 20
_STAND_IN_BYTES = 12 << 20


def run_out(context: Context, subject: str, batch: Batch) -> dict[str, Any]:
    """Take nearly all memory, encode more than there is room for, give it back, and encode again."""
    context.drop()
    device = _core._testing.host_device(_STAND_IN_BYTES) if context.is_stand_in else context.device
    encoder = context.new_encoder(subject, device=device)
    small = Batch(batch.texts[:50])
    expected_small, expected = by_cpu(context.engine(subject), small), by_cpu(context.engine(subject), batch)
    if not expected_small.same_as(by_device(encoder, device, small)):
        return {"status": "failed", "says": "the ids differ from the CPU's before anything was taken"}
    before, total = _core._testing.memory(device)
    taken = [] if context.is_stand_in else _take(device)
    left, _ = _core._testing.memory(device)
    room = left if context.is_stand_in else max(left, 1 << 20)
    large = Batch([*batch.texts] * (room // max(1, len(expected.ids) * 4) + 1), way="flat")
    try:
        got = by_device(encoder, device, large)
        came = "ids"
        if not by_cpu(context.engine(subject), large).same_as(got):
            return {"status": "failed", "says": "with too little memory, the ids differ from the CPU's"}
    except DeviceOutOfMemoryError as error:
        came = f"DeviceOutOfMemoryError ({error})"
    # Still with little memory: what is small has to work, or to say that it cannot.
    try:
        if not expected_small.same_as(by_device(encoder, device, small)):
            return {"status": "failed", "says": "after memory ran out, the ids of a small batch differ"}
    except DeviceOutOfMemoryError as error:
        came += f"; a small batch: {error}"
    taken.clear()
    after_it = by_device(encoder, device, batch) if not context.is_stand_in else by_device(encoder, device, small)
    if not (expected_small if context.is_stand_in else expected).same_as(after_it):
        return {"status": "failed", "says": "after the memory was given back, the ids differ"}
    del encoder
    left_in_the_end, _ = _core._testing.memory(device)
    return {
        "says": f"{left:,} of {total:,} bytes were left, and {came}",
        "free_before": before,
        "free_with_little": left,
        "free_in_the_end": left_in_the_end,
    }


def _take(device: Any) -> list[Any]:
    """Blocks of memory, ever smaller ones, until little is left."""
    taken: list[Any] = []
    free, _ = _core._testing.memory(device)
    size = free - _LEFT
    while size >= _LEAST_BLOCK:
        try:
            taken.append(_core._testing.taken(device, size))
        except DeviceOutOfMemoryError:
            size //= 2
            continue
        free, _ = _core._testing.memory(device)
        size = min(size, free - _LEFT)
    return taken

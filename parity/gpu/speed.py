"""Tasks of the step "speed": rates by vocabulary, text, size and input, and a batch's use of the device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from crayon_hf import _core
from crayon_hf.errors import DeviceOutOfMemoryError

from . import made_texts
from .child import Context
from .comparing import Outcome, flat
from .sizes import Sizes

INPUTS = ("on the device", "pinned", "str")
"""Where the texts are before they are encoded. For the first, ids stay on the device; else they come to the host."""
LEAST_ROUNDS, MOST_ROUNDS = 3, 200


def plan(sizes: Sizes, named: Sequence[str]) -> list[str]:
    """Return the names of the tasks: for each size, by importance, one for each vocabulary and kind of text."""
    return [_name(subject, kind, size) for size in sizes.speed for kind in made_texts.KINDS for subject in named]


def run(name: str, context: Context) -> dict[str, Any]:
    """Measure one vocabulary, kind of text and size: the device with each of `INPUTS`, and the CPU."""
    sizes = context.sizes
    subject, kind, size = next(
        (subject, kind, size)
        for size in sizes.speed
        for kind in made_texts.KINDS
        for subject in context.named
        if _name(subject, kind, size) == name
    )
    texts = made_texts.some_documents(kind, size)
    data, offsets = flat(texts)
    engine = context.engine(subject)
    row: dict[str, Any] = {"vocabulary": subject, "text": kind, "bytes": len(data), "texts": len(texts)}
    expected = Outcome(*engine.encode_ragged(texts))
    row["ids"] = len(expected.ids)
    row["cpu"] = _rate(lambda: engine.encode_ragged(texts), sizes.round_seconds, len(data))
    encoder = context.encoder(subject)

    def encode(given: str) -> Callable[[], Any]:
        if given == "str":
            return partial(encoder.encode_ragged, texts)
        if given == "pinned":
            pinned = _core._testing.pinned(context.device, len(data))
            pinned[:] = np.frombuffer(data, np.uint8)
            return partial(encoder.encode_flat, pinned, offsets)
        there = _core._testing.on_device(context.device, data)
        return partial(encoder.encode_flat, there, offsets, as_device_arrays=True)

    # One copy of the text is on the device, one in pinned memory; both are freed before the next task.
    wrong: list[str] = []
    for given in INPUTS:
        try:
            work = encode(given)
            made: Any = [array if isinstance(array, np.ndarray) else array.numpy() for array in work()]
            if not expected.same_as(Outcome(*made)):
                wrong.append(given)
            del made
            row[given] = _rate(work, sizes.round_seconds, len(data))
        except DeviceOutOfMemoryError as error:
            row[given] = {"failed": str(error)}
    row |= _taken_by_a_batch(context, subject, data, offsets)
    if wrong:
        row |= {"status": "failed", "says": f"the ids differ from the CPU's: {', '.join(wrong)}"}
    return row


def _name(subject: str, kind: str, size: int) -> str:
    return f"{size:,} bytes of {kind}: {subject}"


def _rate(work: Callable[[], Any], seconds: float, size: int) -> dict[str, Any]:
    """Time repeated rounds of `work`, which encodes `size` bytes, for some seconds. Return the speed.

    A result is complete when the call returns, and is freed before the next round.
    """
    took: list[float] = []
    until = time.perf_counter() + seconds
    while len(took) < LEAST_ROUNDS or (time.perf_counter() < until and len(took) < MOST_ROUNDS):
        started = time.perf_counter()
        made = work()
        took.append(time.perf_counter() - started)
        del made
    return _figure(took, size)


def _figure(took: list[float], size: int) -> dict[str, Any]:
    middle = statistics.median(took)
    best = size / 1e9 / max(min(took), 1e-9)
    return {
        "gb_per_s": size / 1e9 / max(middle, 1e-9),
        "best_gb_per_s": best,
        "seconds": middle,
        "rounds": len(took),
    }


def _taken_by_a_batch(context: Context, subject: str, data: bytes, offsets: Any) -> dict[str, Any]:
    """Return the times of kernels and the use of the device, for the first and second batch of a new encoder.

    The encoder has one lane, so that each kernel is timed alone.
    """
    context.drop()
    try:
        there = _core._testing.on_device(context.device, data)
        encoder = context.new_encoder(subject, lanes=1, measure=True)
        reports = [encoder.report]
        started = time.perf_counter()
        encoder.encode_flat(there, offsets, as_device_arrays=True)
        took = time.perf_counter() - started
        reports.append(encoder.report)
        encoder.encode_flat(there, offsets, as_device_arrays=True)
        reports.append(encoder.report)
    except DeviceOutOfMemoryError as error:
        return {"kernels": {}, "batches": [], "not_measured": str(error)}
    first, second = (_difference(before, after) for before, after in pairwise(reports))
    return {
        "first": _figure([took], len(data)),
        "first_kernels": first["kernels"],
        "kernels": second["kernels"],
        "first_batch": first["device"],
        "second_batch": second["device"],
        "vocabulary_bytes": reports[0]["device"]["held"],
    }


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return how much each counter of an encoder's report grew. ``held`` and ``most_held`` are the later values."""
    out: dict[str, Any] = {}
    for name, value in after.items():
        if isinstance(value, dict):
            out[name] = _difference(before.get(name, {}), value)
        else:
            out[name] = value if name in ("held", "most_held") else value - before.get(name, 0)
    return out

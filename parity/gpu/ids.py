"""Tasks of the step "ids": one for each case."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crayon_hf.errors import DeviceError, DeviceLostError
from crayon_hf.parity.speed.child.serve import SkippedError

from .cases import Case, batches_of, plan
from .child import Context
from .comparing import by_cpu, by_device, data_of
from .failures import write_batch, write_difference

MOST_DIFFERING_BATCHES = 3
"""A case is abandoned after this number of differing batches."""


def run(name: str, context: Context) -> dict[str, Any]:
    """Compare the device's ids with the CPU's for all batches of the case called `name`. Return the counts."""
    cases = {case.name: case for case in plan(context.sizes, context.named)}
    case = cases[name]
    _check_growth(case, cases, context)
    engine = context.engine(case.subject, case.greedy)
    found: dict[str, Any] = {"batches": 0, "texts": 0, "bytes": 0, "device_seconds": 0.0, "cpu_seconds": 0.0}
    failures: list[str] = []
    differing = 0
    for batch in batches_of(case, context.sizes):
        context.note(batch=found["batches"])
        encoder = context.encoder(
            case.subject, case.greedy, elements=batch.elements, margin=batch.margin, lanes=batch.lanes
        )
        started = time.perf_counter()
        expected = by_cpu(engine, batch)
        between = time.perf_counter()
        try:
            got = by_device(encoder, context.device, batch)
        except DeviceError as error:
            says = f"{type(error).__name__}: {error}"
            path = context.path_of(case.subject)
            failures += write_batch(context.output, case, found["batches"], batch, path, says)
            is_lost = isinstance(error, DeviceLostError)
            return {**found, "status": "failed", "says": says, "failures": failures, "is_lost": is_lost}
        ended = time.perf_counter()
        found["batches"] += 1
        found["texts"] += len(batch.texts)
        found["bytes"] += sum(len(data_of(text)) for text in batch.texts)
        found["cpu_seconds"] += between - started
        found["device_seconds"] += ended - between
        if not expected.same_as(got):
            differing += 1
            failures += write_difference(context, encoder, case, batch, expected, got)
            if differing == MOST_DIFFERING_BATCHES:
                break
    if case.size:
        _took[case.kind, case.subject, case.greedy] = case.size, found["device_seconds"]
    if differing:
        found |= {"status": "failed", "failures": failures}
        found["says"] = f"{differing} of {found['batches']} batches differ from the CPU's"
    return found


_took: dict[tuple[str, str, bool], tuple[int, float]] = {}
"""The last size of long runs that this process compared, and its seconds on the device.

The key is the kind, the vocabulary, and whether the encoding was greedy.
"""


def _check_growth(case: Case, cases: Mapping[str, Case], context: Context) -> None:
    if not case.is_optional:
        return
    if (case.kind, case.subject, case.greedy) not in _took:  # another process did the smaller size
        sizes = context.sizes.runs
        smaller = replace(case, size=sizes[sizes.index(case.size) - 1])
        run(smaller.name, context)
    last = _took.get((case.kind, case.subject, case.greedy))
    if last is None:
        raise SkippedError("a smaller one failed")
    expected = last[1] * case.size / last[0]
    if expected > context.limit / 2:
        raise SkippedError(f"it would take about {expected:.0f} s: {last[0]:,} bytes took {last[1]:.1f} s")

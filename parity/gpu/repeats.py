"""Tasks of the step "repeats": repeated, concurrent and low-memory use, where results might change from run to run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from crayon_hf import _core
from crayon_hf.errors import DeviceOutOfMemoryError
from crayon_hf.parity.speed.child.serve import SkippedError

from . import made_texts
from .cases import Batch, Case, strings
from .child import Context
from .comparing import Outcome, by_cpu, by_device, flat
from .failures import write_difference
from .subjects import FAMILIES

THREADS = 4
SUBJECT = "llama3 pattern"
"""The family for tasks that need one vocabulary: it has groups of digits and a pattern with all rules."""
_SPINS = 20_000_000
"""How many cycles a side stream is busy before it fills a tensor: about ten milliseconds."""
_LEFT, _LEAST_BLOCK, _STAND_IN_BYTES = 64 << 20, 8 << 20, 12 << 20
"""Three sizes in bytes, for running out of memory.

They are the memory left free, the smallest block that is taken, and the whole memory of the host's stand-in device.
"""

Found = dict[str, Any]


class WrongIdsError(Exception):
    """The ids differ from the CPU's; the message says where."""


def run(name: str, context: Context) -> Found:
    """Do the task called `name`. If ids differ, return the result of a failure."""
    try:
        return TASKS[name](context)
    except WrongIdsError as error:
        says, *failures = error.args
        return {"status": "failed", "says": f"{says}: the ids differ from the CPU's", "failures": failures}


def _check(
    context: Context, encoder: Any, batch: Batch, where: str, subject: str = SUBJECT, greedy: bool = False
) -> None:
    """Compare a batch with the CPU. If ids differ, write the batch and raise WrongIdsError."""
    expected = by_cpu(context.engine(subject, greedy), batch)
    got = by_device(encoder, context.device, batch)
    if not expected.same_as(got):
        case = Case(f"repeats, {where}", subject, greedy)
        raise WrongIdsError(where, *write_difference(context, encoder, case, batch, expected, got))


def mixed_batch(size: int, number: int = 0) -> Batch:
    """Return a batch of texts of all kinds and hostile strings. Each number gives other strings and another order."""
    texts = strings(200 + number)[number:]
    for kind in made_texts.KINDS:
        found = made_texts.some_documents(kind, size // len(made_texts.KINDS))
        texts += found[number:] + found[:number]
    return Batch(texts)


def _one_batch_again(context: Context) -> Found:
    """Encode one batch repeatedly, exact and greedy: the ids must be the same each time."""
    sizes = context.sizes
    batch = mixed_batch(sizes.batch)
    for greedy in (False, True):
        encoder = context.encoder(SUBJECT, greedy)
        for time in range(sizes.repeats):
            _check(context, encoder, batch, f"time {time + 1}", greedy=greedy)
    return {"says": f"{sizes.repeats} times, exact and greedy", "bytes": 2 * sizes.repeats * sizes.batch}


def _threads(context: Context) -> Found:
    """Encode in threads that share an encoder, and in threads that each have their own."""
    families = FAMILIES[:THREADS]
    encoders = {name: context.new_encoder(name) for name in {SUBJECT, *families}}

    def work(number: int) -> None:
        for turn in range(max(2, context.sizes.repeats // 10)):
            subject = SUBJECT if turn % 2 else families[number]
            batch = mixed_batch(context.sizes.batch // THREADS, number)
            _check(context, encoders[subject], batch, f"thread {number + 1}", subject)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return {"says": f"{THREADS} threads, one shared encoder and {len(encoders) - 1} of their own"}


# -- with PyTorch


def _torch_on(context: Context) -> Any:
    """Return torch and its device. Raise SkippedError if torch is missing or cannot use the device."""
    if context.is_stand_in:
        raise SkippedError("torch cannot use the CPU that runs the kernels")
    try:
        import torch
    except ImportError as error:
        raise SkippedError(f"torch cannot be imported: {error}") from error
    kind, _, index = context.name.partition(":")
    if not torch.cuda.is_available() or kind != ("rocm" if getattr(torch.version, "hip", None) else "cuda"):
        raise SkippedError(f"torch {torch.__version__} has no {context.name}")
    return torch, torch.device("cuda", int(index or 0))


def _side_stream(context: Context) -> Found:
    """Encode a tensor that a side stream is still filling; the encoder must wait for that stream."""
    torch, where = _torch_on(context)
    batch = mixed_batch(context.sizes.batch)
    data, offsets = flat(batch.texts)
    expected = by_cpu(context.engine(SUBJECT), batch)
    encoder = context.encoder(SUBJECT)
    source = torch.frombuffer(bytearray(data), dtype=torch.uint8).pin_memory()
    for time in range(max(3, context.sizes.repeats // 5)):
        target = torch.zeros(len(data), dtype=torch.uint8, device=where)
        torch.cuda.synchronize(where)
        side = torch.cuda.Stream(device=where)
        with torch.cuda.stream(side):
            torch.cuda._sleep(_SPINS)
            target.copy_(source, non_blocking=True)
            # The tensor is exported while its stream is the current one, as DLPack requires.
            ids, splits = encoder.encode_flat(target, offsets, as_device_arrays=True)
        got = Outcome(torch.from_dlpack(ids).cpu().numpy(), torch.from_dlpack(splits).cpu().numpy())
        if not expected.same_as(got):
            raise WrongIdsError(f"time {time + 1}, for a tensor that a stream filled")
    return {"says": f"torch {torch.__version__}, {len(data):,} bytes"}


def _graph_capture(context: Context) -> Found:
    """Encode while another thread captures graphs: neither may disturb the other."""
    torch, where = _torch_on(context)
    batch = mixed_batch(context.sizes.batch)
    encoder = context.encoder(SUBJECT)
    stop, started = threading.Event(), threading.Event()

    def capture() -> int:
        captured = 0
        try:
            a = torch.arange(1 << 16, device=where, dtype=torch.float32)
            (a * 2 + 1).sum().item()
            while not stop.is_set():
                graph, out = torch.cuda.CUDAGraph(), None
                # Capture this thread's calls alone, not those of others at the same time.
                with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                    out = a * 2 + 1
                graph.replay()
                torch.cuda.current_stream(where).synchronize()
                if not torch.equal(out, a * 2 + 1):
                    raise RuntimeError("a graph gave other figures")
                captured += 1
                started.set()
        finally:
            started.set()
        return captured

    with ThreadPoolExecutor(1) as pool:
        capturing = pool.submit(capture)
        started.wait()
        try:
            for time in range(max(5, context.sizes.repeats // 5)):
                _check(context, encoder, batch, f"time {time + 1}")
        finally:
            stop.set()
    return {"says": f"torch {torch.__version__}, {capturing.result()} graphs meanwhile"}


# -- when the device's memory runs out


def _out_of_memory(context: Context) -> Found:
    """Take nearly all memory, encode more than fits, free it, and encode again. The batch must give the right error or
    the right ids, and the ids afterwards must be right."""
    context.drop()
    batch = mixed_batch(context.sizes.batch)
    device = _core._testing.host_device(_STAND_IN_BYTES) if context.is_stand_in else context.device
    encoder = context.new_encoder(SUBJECT, device=device)
    engine, small = context.engine(SUBJECT), Batch(batch.texts[:50])

    def check(batch: Batch, where: str) -> None:
        if not by_cpu(engine, batch).same_as(by_device(encoder, device, batch)):
            raise WrongIdsError(where)

    check(small, "before anything was taken")
    before, total = _core._testing.memory(device)
    taken = [] if context.is_stand_in else _take(device)
    left, _ = _core._testing.memory(device)
    ids = len(by_cpu(engine, batch).ids)
    large = Batch([*batch.texts] * (max(left, 1 << 20) // max(1, ids * 4) + 1), way="flat")
    came = "ids"
    try:
        check(large, "with too little memory")
    except DeviceOutOfMemoryError as error:
        came = f"DeviceOutOfMemoryError ({error})"
    with suppress(DeviceOutOfMemoryError):  # with little memory, a small batch must work or report the lack
        check(small, "after memory ran out")
    taken.clear()
    check(small if context.is_stand_in else batch, "after the memory was given back")
    says = f"{left:,} of {total:,} bytes were left, and {came}"
    return {"says": says, "free_before": before, "free_with_little": left}


def _take(device: Any) -> list[Any]:
    """Take blocks of memory, ever smaller ones, until little is left."""
    taken: list[Any] = []
    size = _core._testing.memory(device)[0] - _LEFT
    while size >= _LEAST_BLOCK:
        try:
            taken.append(_core._testing.taken(device, size))
        except DeviceOutOfMemoryError:
            size //= 2
            continue
        size = min(size, _core._testing.memory(device)[0] - _LEFT)
    return taken


TASKS: dict[str, Callable[[Context], Found]] = {
    "one batch again and again": _one_batch_again,
    "four threads": _threads,
    "a tensor filled on a side stream": _side_stream,
    "a graph captured in another thread": _graph_capture,
    "out of memory, and after it": _out_of_memory,
}

"""Tasks of the step "repeats": what may change from run to run, and what others do at the same time."""

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
"""The family whose vocabulary is used where one is enough: it has groups of digits and a pattern with all rules."""
_SPINS = 20_000_000
"""Cycles for which a side stream is kept busy before it fills a tensor: some ten milliseconds."""
_LEFT, _LEAST_BLOCK, _STAND_IN_BYTES = 64 << 20, 8 << 20, 12 << 20
"""Bytes that are left free, at most, when memory runs out; of the smallest block taken; of the stand-in."""

Found = dict[str, Any]


class WrongIdsError(Exception):
    """The ids are not the CPU's, and the text says where."""


def run(name: str, context: Context) -> Found:
    """Do one of them."""
    try:
        return TASKS[name](context)
    except WrongIdsError as error:
        says, *failures = error.args
        return {"status": "failed", "says": f"{says}: the ids differ from the CPU's", "failures": failures}


def _check(
    context: Context, encoder: Any, batch: Batch, where: str, subject: str = SUBJECT, greedy: bool = False
) -> None:
    """WrongIdsError, with the batch written, if the device gives other ids than the CPU."""
    expected = by_cpu(context.engine(subject, greedy), batch)
    got = by_device(encoder, context.device, batch)
    if not expected.same_as(got):
        case = Case(f"repeats, {where}", subject, greedy)
        raise WrongIdsError(where, *write_difference(context, encoder, case, batch, expected, got))


def mixed_batch(size: int, number: int = 0) -> Batch:
    """Texts of all kinds, and hostile strings; another one for each number."""
    texts = strings(200 + number)[number:]
    for kind in made_texts.KINDS:
        found = made_texts.some_documents(kind, size // len(made_texts.KINDS))
        texts += found[number:] + found[:number]
    return Batch(texts)


def _one_batch_again(context: Context) -> Found:
    """One batch, exact and greedy, again and again: the same ids each time."""
    sizes = context.sizes
    batch = mixed_batch(sizes.batch)
    for greedy in (False, True):
        encoder = context.encoder(SUBJECT, greedy)
        for time in range(sizes.repeats):
            _check(context, encoder, batch, f"time {time + 1}", greedy=greedy)
    return {"says": f"{sizes.repeats} times, exact and greedy", "bytes": 2 * sizes.repeats * sizes.batch}


def _threads(context: Context) -> Found:
    """Threads that share an encoder, and threads that have one each."""
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


# -- beside PyTorch


def _torch_on(context: Context) -> Any:
    """torch, and its name of the device. SkippedError where there is none, or it does not have the device."""
    if context.is_stand_in:
        raise SkippedError("the stand-in is no device of torch")
    try:
        import torch
    except ImportError as error:
        raise SkippedError(f"torch cannot be imported: {error}") from error
    kind, _, index = context.name.partition(":")
    if not torch.cuda.is_available() or kind != ("rocm" if getattr(torch.version, "hip", None) else "cuda"):
        raise SkippedError(f"torch {torch.__version__} has no {context.name}")
    return torch, torch.device("cuda", int(index or 0))


def _side_stream(context: Context) -> Found:
    """Encode a tensor while a side stream is yet filling it, once that stream is the current one's predecessor."""
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
            # As DLPack has it: the tensor is exported while its stream is the current one.
            ids, splits = encoder.encode_flat(target, offsets, as_device_arrays=True)
        got = Outcome(torch.from_dlpack(ids).cpu().numpy(), torch.from_dlpack(splits).cpu().numpy())
        if not expected.same_as(got):
            raise WrongIdsError(f"time {time + 1}, beside what the stream wrote")
    return {"says": f"torch {torch.__version__}, {len(data):,} bytes"}


def _graph_capture(context: Context) -> Found:
    """Encode while another thread captures graphs: neither may spoil the other."""
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
                # Of this thread's calls alone: what others do at the same time is theirs.
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
    """Take nearly all memory, encode more than there is room for, give it back, and encode again: the right error or
    the right ids, and the right ids afterwards."""
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
    with suppress(DeviceOutOfMemoryError):  # with little memory yet, what is small has to work or to say that it cannot
        check(small, "after memory ran out")
    taken.clear()
    check(small if context.is_stand_in else batch, "after the memory was given back")
    says = f"{left:,} of {total:,} bytes were left, and {came}"
    return {"says": says, "free_before": before, "free_with_little": left}


def _take(device: Any) -> list[Any]:
    """Blocks of memory, ever smaller ones, until little is left."""
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

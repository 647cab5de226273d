"""PyTorch beside the encoder: a tensor that another stream fills, and a graph that another thread captures."""

from __future__ import annotations

import threading
from typing import Any

from .access import Context, Skipped
from .cases import Batch
from .comparing import Outcome, by_cpu, flat

_SPINS = 20_000_000
"""Cycles for which the side stream is kept busy before it fills the tensor: some ten milliseconds."""


def torch_on(context: Context) -> Any:
    """torch, and its name of the device. Skipped where there is none, or it does not have the device."""
    if context.is_stand_in:
        raise Skipped("the stand-in is no device of torch")
    try:
        import torch
    except ImportError as error:
        raise Skipped(f"torch cannot be imported: {error}") from error
    kind = "rocm" if getattr(torch.version, "hip", None) else "cuda"
    if not torch.cuda.is_available() or kind != context.job.device.partition(":")[0]:
        raise Skipped(f"torch {torch.__version__} has no {context.job.device}")
    return torch, torch.device("cuda", int(context.job.device.partition(":")[2] or 0))


def side_stream(context: Context, subject: str, batch: Batch) -> dict[str, Any]:
    """Encode a tensor while a side stream is yet filling it, once that stream is the current one's predecessor."""
    torch, where = torch_on(context)
    data, offsets = flat(batch.texts)
    expected = by_cpu(context.engine(subject), batch)
    encoder = context.encoder(subject)
    source = torch.frombuffer(bytearray(data), dtype=torch.uint8).pin_memory()
    for time in range(max(3, context.job.sizes.repeats // 5)):
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
            return {"status": "failed", "says": f"time {time + 1}: the ids are not those of what the stream wrote"}
    return {"says": f"torch {torch.__version__}, {len(data):,} bytes"}


def graph_capture(context: Context, subject: str, batch: Batch) -> dict[str, Any]:
    """Encode while another thread captures graphs: neither may spoil the other."""
    torch, where = torch_on(context)
    expected = by_cpu(context.engine(subject), batch)
    encoder = context.encoder(subject)
    failed: list[str] = []
    captured = 0
    stop, started = threading.Event(), threading.Event()

    def capture() -> None:
        nonlocal captured
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
                    failed.append("a graph gave other figures")
                    return
                captured += 1
                started.set()
        except Exception as error:
            failed.append(f"the capture failed: {type(error).__name__}: {str(error).splitlines()[0]}")
        finally:
            started.set()

    thread = threading.Thread(target=capture)
    thread.start()
    started.wait()
    try:
        for time in range(max(5, context.job.sizes.repeats // 5)):
            got = Outcome(*encoder.encode_ragged(batch.texts))
            if not expected.same_as(got):
                failed.append(f"time {time + 1}: the ids differ from the CPU's")
    finally:
        stop.set()
        thread.join()
    if failed:
        return {"status": "failed", "says": "; ".join(failed[:3])}
    return {"says": f"torch {torch.__version__}, {captured} graphs meanwhile"}

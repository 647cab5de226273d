"""Tasks of the step "repeats": what may change from run to run, and what others do at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import made_texts, memory, with_torch
from .access import Context
from .cases import Batch, Case, strings
from .comparing import Outcome, by_cpu, by_device
from .failures import write_difference
from .subjects import FAMILIES

THREADS = 4
SUBJECT = "llama3 pattern"
"""The family whose vocabulary is used where one is enough: it has groups of digits and a pattern with all rules."""


def run(name: str, context: Context) -> dict[str, Any]:
    """Do one of them."""
    return TASKS[name](context)


def _one_batch_again(context: Context) -> dict[str, Any]:
    """One batch, exact and greedy, again and again: the same ids each time."""
    sizes = context.job.sizes
    batch = mixed_batch(sizes.batch)
    for greedy in (False, True):
        expected = by_cpu(context.engine(SUBJECT, greedy), batch)
        encoder = context.encoder(SUBJECT, greedy)
        for time in range(sizes.repeats):
            got = by_device(encoder, context.device, batch)
            if not expected.same_as(got):
                return _differs(context, encoder, greedy, batch, expected, got, f"time {time + 1}")
    return {"says": f"{sizes.repeats} times, exact and greedy", "bytes": 2 * sizes.repeats * sizes.batch}


def _threads(context: Context) -> dict[str, Any]:
    """Threads that share an encoder, and threads that have one each."""
    sizes = context.job.sizes
    families = FAMILIES[:THREADS]
    shared = context.new_encoder(SUBJECT)
    encoders = {SUBJECT: shared} | {name: context.new_encoder(name) for name in families if name != SUBJECT}
    wrong: list[dict[str, Any]] = []
    failed: list[BaseException] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        try:
            for turn in range(max(2, sizes.repeats // 10)):
                subject = SUBJECT if turn % 2 else families[number]
                batch = mixed_batch(sizes.batch // THREADS, number)
                expected = by_cpu(context.engine(subject), batch)
                got = by_device(encoders[subject], context.device, batch)
                if not expected.same_as(got):
                    with lock:
                        where = f"thread {number + 1}"
                        encoder = encoders[subject]
                        wrong.append(_differs(context, encoder, False, batch, expected, got, where, subject))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return (
        wrong[0] if wrong else {"says": f"{THREADS} threads, one shared encoder and {len(encoders) - 1} of their own"}
    )


def mixed_batch(size: int, number: int = 0) -> Batch:
    """Texts of all kinds, and hostile strings; another one for each number."""
    texts = strings(200 + number)[number:]
    for kind in made_texts.KINDS:
        found = made_texts.some_documents(kind, size // len(made_texts.KINDS))
        texts += found[number:] + found[:number]
    return Batch(texts)


def _differs(
    context: Context,
    encoder: Any,
    greedy: bool,
    batch: Batch,
    expected: Outcome,
    got: Outcome,
    where: str,
    subject: str = SUBJECT,
) -> dict[str, Any]:
    case = Case(f"repeats, {where}", subject, greedy)
    failures = write_difference(context, encoder, case, batch, expected, got)
    return {"status": "failed", "says": f"{where}: the ids differ from the CPU's", "failures": failures}


def _side_stream(context: Context) -> dict[str, Any]:
    return with_torch.side_stream(context, SUBJECT, mixed_batch(context.job.sizes.batch))


def _graph_capture(context: Context) -> dict[str, Any]:
    return with_torch.graph_capture(context, SUBJECT, mixed_batch(context.job.sizes.batch))


def _out_of_memory(context: Context) -> dict[str, Any]:
    return memory.run_out(context, SUBJECT, mixed_batch(context.job.sizes.batch))


TASKS: dict[str, Callable[[Context], dict[str, Any]]] = {
    "one batch again and again": _one_batch_again,
    "four threads": _threads,
    "a tensor filled on a side stream": _side_stream,
    "a graph captured in another thread": _graph_capture,
    "out of memory, and after it": _out_of_memory,
}

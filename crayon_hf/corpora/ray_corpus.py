"""`tokenize_corpus` on all nodes of a Ray cluster: its tasks become Ray's, the rest is done where it is called.

Needs ``ray``, the extra ``ray``. Ray decides where a task runs. What decides the bytes, what is kept to go on from and
what is said of failures is `crayon_hf.corpora.job.corpus`'s.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.engines import do_sent, tokenize_by
from crayon_hf.corpora.job.encoder import Sent, Work
from crayon_hf.corpora.job.failures import Failure
from crayon_hf.corpora.job.options import positive
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.pool import TRIES
from crayon_hf.corpora.job.shard import ShardSummary
from crayon_hf.corpora.ray_data import cpus, fetched
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util.extras import need

if TYPE_CHECKING:
    import ray

    from crayon_hf.corpora.job.state import Counts
    from crayon_hf.corpora.job.summary import Summary
    from crayon_hf.tokenizer import Tokenizer

_AHEAD = 64
"""Tasks beyond the cluster's CPUs that Ray is given: enough that it knows what to do next, and grows if it can."""


def tokenize_corpus_on_ray(
    inputs: str | os.PathLike[str] | InputFile | Sequence[str | os.PathLike[str] | InputFile] | Mapping[str, Any],
    output: str | os.PathLike[str],
    format: str = "megatron",
    *,
    tokenizer: str | Tokenizer,
    cpus_per_task: int = 1,
    tries: int = TRIES,
    **settings: Any,
) -> Summary:
    """`tokenize_corpus` by the nodes of the Ray cluster that this process is connected to: the same bytes in the end.

    All nodes see `output` and `inputs` in the same places: addresses of fsspec, or paths, which are made absolute.
    The tokenizer need not be there: its cartridge is sent, once to a node. A task whose worker or node is lost is
    begun again, and its finished shards stay, `tries` times in all; the loss is said on stderr. After an
    error, or when this process is killed, the same call goes on, and so does `tokenize_corpus` with the same arguments.

    `cpus_per_task` is what Ray reserves, and how many threads encode. `settings` are those of `tokenize_corpus`, but
    for ``workers``, ``threads`` and ``runner``; `progress` is called after each task. Errors are those of
    `tokenize_corpus`.

    docs/clusters.md has examples.
    """
    need("tokenize_corpus_on_ray", "ray", "ray", "pyarrow")
    cpus_per_task, tries = positive(cpus_per_task, "cpus_per_task"), positive(tries, "tries")
    runner = functools.partial(_on_ray, cpus_per_task=cpus_per_task, tries=tries)
    settings = {"tokenizer": tokenizer, **settings}
    return tokenize_by(runner, "tokenize_corpus_on_ray", "cpus_per_task", inputs, output, format, settings)


def _on_ray(
    tasks: Sequence[Task], work: Work, progress: Callable[[Task, Counts], None], cpus_per_task: int, tries: int
) -> Iterator[tuple[Task, ShardSummary | Failure]]:
    """What came of each task, in the order in which they end; after a failure that stops all, no more."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    sent, parcel = Sent.of(work)
    # Ray's own retries would be as good, but nobody would hear of them.
    remote = ray.remote(num_cpus=cpus_per_task, max_retries=0, scheduling_strategy="SPREAD")(_run)
    parcels = [ray.put(parcel)]  # in a list, since Ray fetches arguments: a worker may not need this one
    waiting, begun = deque(tasks), dict.fromkeys((task.name for task in tasks), 0)
    running: dict[ray.ObjectRef, Task] = {}
    try:
        while waiting or running:
            most = _AHEAD + int(ray.cluster_resources().get("CPU", 0)) // cpus_per_task
            while waiting and len(running) < most:
                task = waiting.popleft()
                begun[task.name] += 1
                named = remote.options(name=f"tokenize {task.name}")  # as it is called in Ray's lists, and by `ps`
                running[named.remote(task, sent, parcels)] = task
            for done in ray.wait(list(running), timeout=None)[0]:
                task = running.pop(done)
                try:
                    result: ShardSummary | Failure = ray.get(done)
                except RayTaskError as error:
                    result = Failure("error", f"task {task.name}: {error.cause}")
                except RayError as error:  # its worker or its node is gone, or out of memory
                    result = Failure("died", f"task {task.name}: {_first_line(error)}")
                    if begun[task.name] < tries:
                        print(f"crayon-hf: warning: {result.message}; it is begun again", file=sys.stderr)
                        waiting.appendleft(task)
                        continue
                yield task, result
                if isinstance(result, Failure) and result.stops_all:
                    return
    finally:
        for left in running:
            ray.cancel(left, force=True)


def _run(task: Task, sent: Sent, parcels: list[ray.ObjectRef]) -> ShardSummary | Failure:
    """What a worker of Ray does."""
    return do_sent(task, sent, fetched(parcels), cpus())


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__

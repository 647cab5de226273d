"""`tokenize_corpus` with its tasks on the nodes of a Ray cluster.

Needs ``ray`` (the extra ``ray``). Ray schedules the tasks. In the calling process `crayon_hf.corpora.job.corpus`
handles the output, the state and failures.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.engines import do_sent, tokenize_by
from crayon_hf.corpora.job.encoder import Work
from crayon_hf.corpora.job.failures import Failure
from crayon_hf.corpora.job.job_spec import Task
from crayon_hf.corpora.job.options import positive
from crayon_hf.corpora.job.pool import TRIES
from crayon_hf.corpora.job.shard import ShardSummary
from crayon_hf.corpora.ray_data import cpus, fetched
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util.extras import need
from crayon_hf.util.wording import first_line

if TYPE_CHECKING:
    import ray

    from crayon_hf.corpora.job.state import Counts
    from crayon_hf.corpora.job.summary import Summary
    from crayon_hf.tokenizer import Tokenizer

_AHEAD = 64
"""Tasks submitted beyond the cluster's CPUs, so that Ray always has work and can scale up."""


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
    """`tokenize_corpus` on the nodes of the Ray cluster that this process is connected to, with the same output bytes.

    If a worker or node is lost, its task is tried again with a warning on stderr. Finished tasks are kept, also after
    an error or a kill: repeat the call, or call `tokenize_corpus` with the same arguments, to continue.

    Args:
        inputs: As for `tokenize_corpus`. All nodes must see them at the same addresses (fsspec) or paths.
        output: The directory of the job. All nodes must see it, too.
        format: One of ``FORMATS``.
        tokenizer: A `Tokenizer`, a name or a path on this machine; its cartridge is sent once to each node.
        cpus_per_task: CPUs that Ray reserves for a task, and its encoding threads.
        tries: The most attempts at a task whose worker or node is lost.
        **settings: The other arguments of `tokenize_corpus`, except ``workers``, ``threads`` and ``runner``.
            `progress` is called after each task.

    Returns:
        The summary of the job, as `tokenize_corpus` returns it.

    Raises:
        TypeError: `settings` has ``workers``, ``threads`` or ``runner``.
        Exception: The errors of `tokenize_corpus`.

    docs/clusters.md has examples.
    """
    need("tokenize_corpus_on_ray", "ray", "ray", "pyarrow")
    cpus_per_task, tries = positive(cpus_per_task, "cpus_per_task"), positive(tries, "tries")
    runner = functools.partial(_on_ray, cpus_per_task=cpus_per_task, tries=tries)
    names = "tokenize_corpus_on_ray", "cpus_per_task"
    return tokenize_by(runner, *names, inputs, output, format, tokenizer=tokenizer, **settings)


def _on_ray(
    tasks: Sequence[Task], work: Work, progress: Callable[[Task, Counts], None], cpus_per_task: int, tries: int
) -> Iterator[tuple[Task, ShardSummary | Failure]]:
    """Yield the result of each task as it ends, up to a failure that stops the job."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    sent, parcel = work.sent()
    # Without Ray's own retries, which would give no warning.
    remote = ray.remote(num_cpus=cpus_per_task, max_retries=0, scheduling_strategy="SPREAD")(_run)
    parcels = [ray.put(parcel)]  # Ray passes an object in a list without fetching it: few workers need this one
    waiting, begun = deque(tasks), dict.fromkeys((task.name for task in tasks), 0)
    running: dict[ray.ObjectRef, Task] = {}
    try:
        while waiting or running:
            most = _AHEAD + int(ray.cluster_resources().get("CPU", 0)) // cpus_per_task
            while waiting and len(running) < most:
                task = waiting.popleft()
                begun[task.name] += 1
                named = remote.options(name=f"tokenize {task.name}")  # the name in Ray's lists and in `ps`
                running[named.remote(task, sent, parcels)] = task
            for done in ray.wait(list(running), timeout=None)[0]:
                task = running.pop(done)
                try:
                    result: ShardSummary | Failure = ray.get(done)
                except RayTaskError as error:
                    result = Failure("error", f"task {task.name}: {error.cause}")
                except RayError as error:  # the worker or node was lost, or ran out of memory
                    result = Failure("died", f"task {task.name}: {first_line(error)}")
                    if begun[task.name] < tries:
                        print(f"crayon-hf: warning: {result.message}; trying again", file=sys.stderr)
                        waiting.appendleft(task)
                        continue
                yield task, result
                if isinstance(result, Failure) and result.stops_all:
                    return
    finally:
        for left in running:
            ray.cancel(left, force=True)


def _run(task: Task, work: Work, parcels: list[ray.ObjectRef]) -> ShardSummary | Failure:
    """Run one task. This is the function that Ray calls in a worker."""
    return do_sent(task, work, fetched(parcels), cpus())

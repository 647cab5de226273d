"""How small calls scale with threads in one process: `python tools/scaling.py [THREADS ...]`, 1, 2 and 8 by default.

Each row is a call that all threads make at the same time, of one tokenizer (the profile ``lite``), with a text or a
list of ids of its own. It says how many calls there are in a second of the clock, as a multiple of one thread's, what
one takes of the processor's time, and how many cores the threads had: where that is not their number, the machine was
busy, and the other two say nothing of threads that run at once. Rounds of all thread counts take turns; a figure is
the median of some. With the GIL the first stays at 1.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from typing import Any

from crayon_hf import DecodeStream, Tokenizer

ROUNDS = 5
SECONDS = 0.2
SHORT = "One short sentence, as a server gets it."


def calls(tokenizer: Tokenizer) -> dict[str, Callable[[], Callable[[], Any]]]:
    """By name, a function that makes the call of one thread."""
    text = " ".join(SHORT for _ in range(50))
    ids, many = tokenizer.encode(SHORT).ids, tokenizer.encode(text).ids

    def step() -> Callable[[], Any]:
        stream = DecodeStream()
        (id,) = tokenizer.encode("a").ids
        return lambda: stream.step(tokenizer, id)

    def with_own(call: Callable[[Any], Any], given: Any) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            own = copy_of(given)
            return lambda: call(own)

        return make

    return {
        "encode, 40 characters": with_own(lambda own: tokenizer.encode(own).ids, SHORT),
        "encode, 2 KB": with_own(lambda own: tokenizer.encode(own).ids, text),
        "tokens and offsets, 2 KB": with_own(lambda own: (e := tokenizer.encode(own)).tokens and e.offsets, text),
        "decode, 9 ids": with_own(tokenizer.decode, ids),
        "decode, 450 ids": with_own(tokenizer.decode, many),
        "a step of a stream": step,
        "encode_batch, 16 texts, one thread each": with_own(
            lambda own: tokenizer.encode_batch(own, threads=1), [SHORT] * 16
        ),
    }


def copy_of(given: Any) -> Any:
    """Another object, of the items that are the same: a text or a list."""
    return "".join(list(given)) if isinstance(given, str) else list(given)


def measure(threads: int, make: Callable[[], Callable[[], Any]]) -> tuple[float, float]:
    """Calls a second in all, and seconds of the processor for each."""
    counts = [0] * threads
    begin, end = threading.Barrier(threads + 1), threading.Barrier(threads + 1)
    until = 0.0

    def run(number: int) -> None:
        call, done = make(), 0
        begin.wait()
        while done == 0 or time.perf_counter() < until:
            for _ in range(20):
                call()
            done += 20
        counts[number] = done
        end.wait()

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    until = wall + SECONDS
    begin.wait()
    end.wait()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    for thread in running:
        thread.join()
    return sum(counts) / wall, cpu / sum(counts)


def main(given: list[str]) -> None:
    """Print the table."""
    counts = [int(number) for number in given] or [1, 2, 8]
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    build = "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "usual"
    gil = "with" if has_gil else "without"
    print(f"CPython {sys.version.split()[0]}, {build}, {gil} the GIL; {os.cpu_count()} cores")
    print(
        "Calls a second as a multiple of one thread's; \u00b5s of the processor for each; cores that the threads had.\n"
    )
    print("| call | " + " | ".join(f"{count} thread{'s'[: count != 1]}" for count in counts) + " |")
    print("|---|" + "--:|" * len(counts))
    for name, make in calls(Tokenizer.from_profile("lite")).items():
        rounds = [[measure(count, make) for count in counts] for _ in range(ROUNDS)]
        cells = []
        for i in range(len(counts)):
            times = statistics.median(each[i][0] / each[0][0] for each in rounds)
            cpu = statistics.median(each[i][1] for each in rounds)
            cores = statistics.median(each[i][0] * each[i][1] for each in rounds)
            cells.append(f"{times:.2f}, {cpu * 1e6:.2f}, {cores:.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""``python -m crayon_hf.parity.bench_vocab``: swapping profiles, and what a `Pipeline` costs and loses.

CRAYON claims that profiles are swapped in 0.54 ms; its own pipeline drops what is in its queues when it stops. Here the
profiles given are loaded in turn, and a pipeline is closed while all its queues are full.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from crayon_hf import CrayonVocab, Pipeline, Tokenizer

from .bench.machine import machine_lines
from .inputs.texts import documents, find_text, read_text

SWAPS = 2000


def swap_times(profiles: Sequence[str], mode: str, text: str) -> dict[str, list[float]]:
    """Milliseconds of each `load_profile`, and of one with a first text after it; the profiles take turns."""
    vocab = CrayonVocab(mode=mode)
    for profile in profiles:
        vocab.load_profile(profile)
    loads, uses = [], []
    for number in range(SWAPS):
        profile = profiles[number % len(profiles)]
        started = time.perf_counter()
        vocab.load_profile(profile)
        loaded = time.perf_counter()
        vocab.tokenize(text)
        loads.append((loaded - started) * 1000)
        uses.append((time.perf_counter() - started) * 1000)
    return {"load_profile": loads, "load_profile and a first text": uses}


def pipeline_rates(tokenizer: Tokenizer, texts: Sequence[str], workers: int) -> dict[str, float]:
    """MB/s of encoding one text after the other, of a pipeline, and of a batch."""
    size = sum(len(text.encode()) for text in texts) / 1e6

    def rate(work: Callable[[], object]) -> float:
        started = time.perf_counter()
        work()
        return size / (time.perf_counter() - started)

    def piped() -> None:
        with Pipeline(tokenizer, workers=workers) as pipeline:
            for _ in pipeline.map(texts):
                pass

    return {
        "one by one": rate(lambda: [tokenizer.encode(text).ids for text in texts]),
        f"Pipeline, {workers} workers": rate(piped),
        "encode_batch": rate(lambda: [encoding.ids for encoding in tokenizer.encode_batch(texts, threads=workers)]),
    }


def shutdown(tokenizer: Tokenizer, text: str, depth: int, workers: int) -> tuple[int, int, float]:
    """Fill a pipeline, close it at once: items submitted, results that came out, milliseconds that `close` took."""
    pipeline = Pipeline(tokenizer, depth=depth, workers=workers)
    submitted = 0
    while True:
        try:
            pipeline.submit(submitted, text, 0)
        except TimeoutError:
            break
        submitted += 1
    started = time.perf_counter()
    pipeline.close()
    took = (time.perf_counter() - started) * 1000
    return submitted, len(list(pipeline.results())), took


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m crayon_hf.parity.bench_vocab", description=__doc__)
    parser.add_argument("profiles", nargs="+", metavar="PROFILE", help="profiles by name or path; two or more to swap")
    parser.add_argument("--text", default="english", metavar="FILE", help="default %(default)s")
    parser.add_argument("--megabytes", type=float, default=4, metavar="MB", help="default %(default)s")
    parser.add_argument("--mode", default="exact", choices=("exact", "greedy"))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 1 when a pipeline lost something."""
    arguments = make_parser().parse_args(argv)
    texts = list(documents(read_text(find_text(arguments.text), int(arguments.megabytes * 1e6))))
    print("\n".join(machine_lines({})))
    print(f"\n| {len(arguments.profiles)} profiles in turn, ms | median | 99% |\n|---|---:|---:|")
    for name, times in swap_times(arguments.profiles, arguments.mode, texts[0][:100]).items():
        print(f"| {name} | {statistics.median(times):.3f} | {statistics.quantiles(times, n=100)[98]:.3f} |")
    with CrayonVocab(mode=arguments.mode) as vocab:
        vocab.load_profile(arguments.profiles[0])
        path = vocab.current_profile_path
    assert path is not None
    tokenizer = Tokenizer.from_file(path, mode=arguments.mode)
    print("\n| documents of 2 KB, lists | MB/s |\n|---|---:|")
    rounds = [pipeline_rates(tokenizer, texts, 2) for _ in range(5)]
    for name in rounds[0]:
        print(f"| {name} | {statistics.median(row[name] for row in rounds):.1f} |")
    print("\n| depth, workers | submitted | results after close() | close(), ms |\n|---|---:|---:|---:|")
    lost = 0
    for depth, workers in ((4, 1), (64, 2), (1024, 4)):
        submitted, delivered, took = shutdown(tokenizer, texts[0], depth, workers)
        lost += submitted - delivered
        print(f"| {depth}, {workers} | {submitted} | {delivered} | {took:.1f} |")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

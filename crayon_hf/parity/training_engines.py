"""One training in this process, measured: run by its path, with a job on the standard input.

Nothing but the trainer is imported, so that memory is the trainer's. The job names an engine, a text file, the size of
the vocabulary and the threads; the answer is a line of JSON, the new tokens are written to a file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""gpt2's, for those that take one."""

Tokens = Callable[[], list[bytes]]
"""The tokens that merges made, by id."""


def crayon(path: str, vocab_size: int, threads: int, stages: dict[str, float]) -> Tokens:
    """Ours; the time of each stage is that until the next one reports."""
    import crayon_hf

    current, since, ended = "opening", time.perf_counter(), 0.0

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal current, since, ended
        ended = time.perf_counter()
        if stage != current:
            stages[current] = stages.get(current, 0.0) + ended - since
            current, since = stage, ended

    tokenizer = crayon_hf.train_bpe(
        path, vocab_size=vocab_size, pattern="gpt2", format="text", threads=threads, show_progress=progress
    )
    stages[current] = stages.get(current, 0.0) + ended - since
    stages["tokenizer"] = time.perf_counter() - ended
    return lambda: _of_json(tokenizer.to_str())


def tokenizers(path: str, vocab_size: int, threads: int, stages: dict[str, float]) -> Tokens:
    """The reference, with its own way to read files."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train([path], trainer)
    return lambda: _of_json(tokenizer.to_str())


def rustbpe(path: str, vocab_size: int, threads: int, stages: dict[str, float]) -> Tokens:
    """From an iterator of lines, as it asks for."""
    tokenizer = import_module("rustbpe").Tokenizer()
    with open(path, encoding="utf-8", newline="\n") as lines:
        tokenizer.train_from_iterator(lines, vocab_size, pattern=PATTERN)

    def tokens() -> list[bytes]:
        ranked = sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])
        return [bytes(token) for token, _ in ranked[256:]]

    return tokens


def gigatoken(path: str, vocab_size: int, threads: int, stages: dict[str, float]) -> Tokens:
    """From the file, which is one document."""
    package = import_module("gigatoken")
    _, merges = package.train_bpe(package.TextFileSource([path]), vocab_size, [])
    return lambda: [left + right for left, right in merges]


ENGINES = {"crayon": crayon, "tokenizers": tokenizers, "rustbpe": rustbpe, "gigatoken": gigatoken}
PACKAGES = {"crayon": "crayon-hf"}


def _of_json(text: str) -> list[bytes]:
    vocab = json.loads(text)["model"]["vocab"]
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    bytes_of = {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}
    ordered = sorted(vocab, key=lambda token: vocab[token])
    return [bytes(bytes_of[character] for character in token) for token in ordered[256:]]


def peak_megabytes() -> float:
    """The most memory that this process had resident, in MB of 1,000,000 bytes."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return int(status.read().partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def anonymous_megabytes() -> float:
    """Memory now that is no page of a file; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return int(status.read().partition("RssAnon:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return 0.0


def main() -> int:
    """Train once. What a library is imported for takes no part in the time."""
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job["cpus"])
    engine = job["engine"]
    import_module("crayon_hf.training" if engine == "crayon" else engine)
    before, before_anonymous, stages = peak_megabytes(), anonymous_megabytes(), dict[str, float]()
    start, cpu = time.perf_counter(), time.process_time()
    tokens = ENGINES[engine](job["path"], job["vocab_size"], job["threads"], stages)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_megabytes()
    with open(job["tokens"], "w", encoding="utf-8") as file:
        json.dump([token.hex() for token in tokens()], file)
    try:
        number = version(PACKAGES.get(engine, engine))
    except ImportError:
        number = ""
    result = {
        "seconds": seconds,
        "cpu": cpu,
        "before_mb": before,
        "before_anonymous_mb": before_anonymous,
        "peak_mb": peak,
        "stages": stages,
        "version": number,
    }
    print("\n" + json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

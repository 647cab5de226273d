"""Measure how long profiles take to compile and to open.

    python -m conversion.profiles.compile_time [NAME.json ...] [--rounds 30]

For each tokenizer.json, print medians of two times: of a call of the compiler, and of opening the .dat until it is
ready for its first text. The processor's time is in brackets; it is more reliable when the machine has other work.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import crayon_hf
from crayon_hf import _core
from crayon_hf.util.markdown import table_lines


def timed(work: Callable[[], object], rounds: int) -> str:
    """Return the median times of a call in milliseconds: by the clock, and in brackets the processor's."""
    times = []
    for _ in range(rounds):
        start, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    passed, spent = (1e3 * statistics.median(some) for some in zip(*times, strict=True))
    return f"{passed:.2f} ({spent:.2f})"


def row(source: Path, target: Path, rounds: int) -> list[str]:
    """Return a profile's row. Its cartridge is written to `target`."""
    data, metadata = source.read_bytes(), json.dumps({"name": source.stem})
    compiling = timed(lambda: _core.compile_tokenizer_json(data, metadata), rounds)
    target.write_bytes(_core.compile_tokenizer_json(data, metadata))
    opening = timed(lambda: crayon_hf.Tokenizer.from_file(target), 10 * rounds)
    ids = crayon_hf.Tokenizer.from_file(target).get_vocab_size()
    return [source.stem, f"{ids:,}", f"{target.stat().st_size / 1e6:.2f}", compiling, opening]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    packaged = sorted((Path(crayon_hf.__file__).parent / "profiles").glob("*.json"))
    parser.add_argument("sources", type=Path, nargs="*", default=packaged)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    heads = ("profile", "ids", "cartridge, MB", "compiling, ms", "opening, ms")
    with tempfile.TemporaryDirectory() as temporary:
        rows = (row(source, Path(temporary) / f"{source.stem}.dat", options.rounds) for source in options.sources)
        for line in table_lines(heads, rows, numbers=4):
            print(line, flush=True)


if __name__ == "__main__":
    main()

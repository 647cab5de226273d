"""Measure how long profiles take to compile and to open.

    python -m conversion.profiles.compile_time [NAME.json ...] [--rounds 30]

For each tokenizer.json, print medians of three times:

- a whole process, from its start to the written .dat. Its interpreter has no site-packages, and imports only the
  compiler (crayon_hf/_core)
- the call of the compiler in that process
- the opening of the .dat in a process that has imported crayon_hf, until it is ready for its first text

The processor's time is in brackets; it is more reliable when the machine has other work.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import crayon_hf
from crayon_hf import _core
from crayon_hf.util.markdown import table_lines

COMPILE = """
import sys, time
folder, source, target, metadata = sys.argv[1:]
sys.path.insert(0, folder)
import _core
with open(source, "rb") as file:
    data = file.read()
start, cpu = time.perf_counter(), time.process_time()
cartridge = _core.compile_tokenizer_json(data, metadata)
spent = time.perf_counter() - start, time.process_time() - cpu
with open(target, "wb") as file:
    file.write(cartridge)
print(*spent)
"""


Times = tuple[float, float]  # wall-clock seconds, and the processor's


def medians(times: Sequence[Times]) -> Times:
    return statistics.median(passed for passed, _ in times), statistics.median(cpu for _, cpu in times)


def in_processes(source: Path, target: Path, rounds: int) -> tuple[Times, Times]:
    """Return the median times of a whole process, and of the compiler's call in that process."""
    assert _core.__file__ is not None
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        COMPILE,
        str(Path(_core.__file__).parent),
        str(source),
        str(target),
        json.dumps({"name": source.stem}),
    ]
    whole, call = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            printed = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        whole.append((time.perf_counter() - start, used.ru_utime + used.ru_stime))
        if process.returncode:
            raise SystemExit(f"{source} was not compiled")
        in_call, cpu_in_call = map(float, printed.split())
        call.append((in_call, cpu_in_call))
    return medians(whole), medians(call)


def opening(cartridge: Path, rounds: int) -> Times:
    times = []
    for _ in range(rounds):
        start, cpu = time.perf_counter(), time.process_time()
        crayon_hf.Tokenizer.from_file(cartridge)
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    return medians(times)


def row(source: Path, target: Path, rounds: int) -> list[str]:
    times = [*in_processes(source, target, rounds), opening(target, 10 * rounds)]
    ids = crayon_hf.Tokenizer.from_file(target).get_vocab_size()
    shown = [f"{1e3 * passed:.2f} ({1e3 * cpu:.2f})" for passed, cpu in times]
    return [source.stem, f"{ids:,}", f"{target.stat().st_size / 1e6:.2f}", *shown]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    packaged = sorted((Path(crayon_hf.__file__).parent / "profiles").glob("*.json"))
    parser.add_argument("sources", type=Path, nargs="*", default=packaged)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    heads = ("profile", "ids", "cartridge, MB", "process, ms", "compiling, ms", "opening, ms")
    with tempfile.TemporaryDirectory() as temporary:
        rows = (row(source, Path(temporary) / f"{source.stem}.dat", options.rounds) for source in options.sources)
        for line in table_lines(heads, rows, numbers=5):
            print(line, flush=True)


if __name__ == "__main__":
    main()

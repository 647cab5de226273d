"""``python -m crayon_hf.parity.bench_training``: time and memory of training, beside other trainers of BPE.

Every figure comes from a process of its own; the trainers take turns, so that a slow minute of the machine hits all
alike. All cut the text with gpt2's pattern. The tokens that they make are compared with those of ``tokenizers``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from .bench.machine import cpu_model
from .bench.processes import all_cores
from .bench.tables import rounded
from .bench.turns import TurnsBench, add_outputs, run_command
from .harness.children import isolated
from .training.command import text_of
from .training_engines import ENGINES

BEGIN = "<!-- bench-training: begin -->"
END = "<!-- bench-training: end -->"
OURS, REFERENCE = "crayon", "tokenizers"
LIMIT = 1800.0
"""Seconds that one training may take."""

_PROGRAM = isolated("""
import json, runpy
sys.path[:] = json.loads(sys.argv[1])
runpy.run_path(sys.argv[2], run_name="__main__")
""")


@dataclass
class Run:
    """All trainings of one engine on one text."""

    engine: str
    megabytes: float
    version: str = ""
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    before_mb: list[float] = field(default_factory=list)
    """The process with the library imported."""
    peak_mb: list[float] = field(default_factory=list)
    anonymous_mb: list[float] = field(default_factory=list)
    """The most that was no page of a file, above what it was with the library imported; looked at every 10 ms."""
    stages: list[dict[str, float]] = field(default_factory=list)
    tokens: int = 0
    same_tokens: int | None = None
    """How many of the first tokens are those of the reference; None where that was not measured."""
    failed: str = ""

    @property
    def above_mb(self) -> float:
        """Memory above that of the process with the library imported."""
        return statistics.median(peak - before for peak, before in zip(self.peak_mb, self.before_mb, strict=True))


class Bench(TurnsBench[Run]):
    """A finished run."""

    run_type = Run

    def of(self, megabytes: float) -> list[Run]:
        """The runs on a text."""
        return [run for run in self.runs if run.megabytes == megabytes]


def anonymous(pid: int | str) -> float:
    """Memory of a process that is no page of a file, in MB; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("RssAnon:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return 0.0


def train_once(run: Run, path: str, vocab_size: int, threads: int, limit: float = LIMIT) -> list[str] | None:
    """Add a training in a fresh process to a run; its tokens, or None with ``run.failed``."""
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "PYTHONWARNINGS": "ignore",
    }
    script = str(Path(__file__).with_name("training_engines.py"))
    with TemporaryDirectory(prefix="crayon-bench-training-") as directory:
        tokens = os.path.join(directory, "tokens")
        job = {"engine": run.engine, "path": path, "vocab_size": vocab_size, "threads": threads, "tokens": tokens}
        errors = os.path.join(directory, "errors")
        with open(errors, "w+b") as error_file:
            child = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=error_file,
                env=environment,
            )
            assert child.stdin is not None
            child.stdin.write((json.dumps({**job, "cpus": all_cores()[-threads:]}) + "\n").encode())
            child.stdin.flush()
            most, until = 0.0, time.monotonic() + limit
            while child.poll() is None and time.monotonic() < until:
                most = max(most, anonymous(child.pid))
                time.sleep(0.01)
            if child.poll() is None:
                child.kill()
                run.failed = f"over {limit:g} s"
            out = child.communicate()[0].decode(errors="replace")
            if child.returncode and not run.failed:
                error_file.seek(0)
                lines = error_file.read().decode(errors="replace").strip().splitlines()
                run.failed = (lines or [f"the process ended with code {child.returncode}"])[-1][:200]
        if run.failed:
            return None
        result = json.loads(out.strip().splitlines()[-1])
        run.version = result["version"]
        run.seconds.append(result["seconds"])
        run.cpu.append(result["cpu"])
        run.before_mb.append(result["before_mb"])
        run.peak_mb.append(result["peak_mb"])
        run.anonymous_mb.append(max(0.0, most - result["before_anonymous_mb"]))
        run.stages.append(result["stages"])
        with open(tokens, encoding="utf-8") as file:
            made: list[str] = json.load(file)
        run.tokens = len(made)
        return made


def same_beginning(made: Sequence[str], right: Sequence[str]) -> int:
    """How many tokens are the same before the first that is another one."""
    for i, (one, other) in enumerate(zip(made, right, strict=False)):
        if one != other:
            return i
    return min(len(made), len(right))


def measure(
    path: str,
    engines: Sequence[str],
    vocab_size: int,
    threads: int,
    rounds: int,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Train all on one text in turns."""
    megabytes = round(os.path.getsize(path) / 1e6, 1)
    runs = [Run(engine, megabytes) for engine in engines]
    made: dict[str, list[str]] = {}
    for done in range(rounds):
        turn = done % max(1, len(runs))
        for run in [*runs[turn:], *runs[:turn]]:
            if not run.failed:
                tokens = train_once(run, path, vocab_size, threads)
                took = run.failed or f"{run.seconds[-1]:.2f} s, {run.above_mb:.0f} MB"
                progress(f"{megabytes} MB, round {done + 1}, {run.engine}: {took}")
                made.setdefault(run.engine, tokens or [])
    if made.get(REFERENCE):
        for run in runs:
            if not run.failed:
                run.same_tokens = same_beginning(made[run.engine], made[REFERENCE])
    return runs


def to_markdown(bench: Bench) -> str:
    """All tables."""
    sizes = sorted({run.megabytes for run in bench.runs})
    main = bench.settings["megabytes"]
    main = min(sizes, key=lambda size: abs(size - main))
    lines = [f"- {line}" for line in bench.machine]
    lines += ["", *_beside(bench.of(main)), ""]
    if len(sizes) > 1:
        lines += [*_curve(bench, sizes), ""]
    lines += _stages(bench, sizes)
    return "\n".join(lines).rstrip() + "\n"


def _beside(runs: list[Run]) -> list[str]:
    ours = next((run for run in runs if run.engine == OURS and not run.failed), None)
    size = f"{runs[0].megabytes:g} MB" if runs else "no text"
    lines = [
        f"| {size} | s | of the processor | times ours | memory, MB | no file's | process, MB | as `tokenizers` |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for run in runs:
        name = f"{run.engine} {run.version}".strip()
        if run.failed:
            lines.append(f"| {name} | {run.failed} | | | | | | |")
            continue
        seconds = statistics.median(run.seconds)
        times = f"{seconds / statistics.median(ours.seconds):.1f}" if ours else ""
        if run.same_tokens is None:
            same = "not compared"
        else:
            same = f"all {run.tokens:,}" if run.same_tokens == run.tokens else f"the first {run.same_tokens:,}"
        figures = [seconds, statistics.median(run.cpu)]
        memory = [run.above_mb, statistics.median(run.anonymous_mb), statistics.median(run.peak_mb)]
        cells = [*map(rounded, figures), times, *(f"{each:,.0f}" for each in memory), same]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _curve(bench: Bench, sizes: Sequence[float]) -> list[str]:
    engines = list(dict.fromkeys(run.engine for run in bench.runs))
    head = f"| s (of the processor); MB | {' | '.join(engines)} |"
    lines = [head, f"|---|{'---:|' * len(engines)}"]
    for size in sizes:
        by_engine = {run.engine: run for run in bench.of(size)}
        cells = []
        for engine in engines:
            run = by_engine.get(engine)
            if run is None or run.failed:
                cells.append(run.failed if run else "")
            else:
                wall, cpu = rounded(statistics.median(run.seconds)), rounded(statistics.median(run.cpu))
                cells.append(f"{wall} ({cpu}); {run.above_mb:,.0f}")
        lines.append(f"| {size:g} MB | {' | '.join(cells)} |")
    return lines


def _stages(bench: Bench, sizes: Sequence[float]) -> list[str]:
    runs = [run for size in sizes for run in bench.of(size) if run.engine == OURS and not run.failed]
    names = list(dict.fromkeys(name for run in runs for stages in run.stages for name in stages))
    if not names:
        return []
    lines = [f"| stages of ours, s | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for run in runs:
        medians = [statistics.median(stages.get(name, 0.0) for stages in run.stages) for name in names]
        lines.append(f"| {run.megabytes:g} MB | {' | '.join(f'{median:.2f}' for median in medians)} |")
    return lines


def shortfalls(bench: Bench) -> list[str]:
    """What misses its target on the main text: 6 times the speed of `tokenizers`, no slower or larger than others."""
    sizes = [run.megabytes for run in bench.runs]
    if not sizes:
        return []
    main = min(sizes, key=lambda size: abs(size - bench.settings["megabytes"]))
    by_engine = {run.engine: run for run in bench.of(main) if not run.failed}
    ours = by_engine.pop(OURS, None)
    if ours is None:
        return ["ours was not measured"]
    found = []
    for name, run in by_engine.items():
        ratio = statistics.median(run.seconds) / statistics.median(ours.seconds)
        if ratio < (6 if name == REFERENCE else 1):
            found.append(f"{ratio:.2f} times as fast as {name}")
        if ours.above_mb > run.above_mb:
            found.append(f"{ours.above_mb:.0f} MB, {name} takes {run.above_mb:.0f} MB")
        if name == REFERENCE and ours.same_tokens != ours.tokens:
            found.append(f"other tokens than {name}'s after {ours.same_tokens}")
    return found


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m crayon_hf.parity.bench_training", description=__doc__)
    parser.add_argument("--text", default="english", metavar="TEXT", help="a name, a file, or NAME=FILE,FILE...")
    parser.add_argument("--megabytes", type=float, default=20, metavar="MB", help="of the text (default %(default)s)")
    parser.add_argument("--curve", default="10,100,500", metavar="MB,MB", help="more sizes (default %(default)s)")
    parser.add_argument("--curve-text", metavar="TEXT", help="for the curve (default: --text, as far as it goes)")
    parser.add_argument("--vocab-size", type=int, default=32000, metavar="N", help="default %(default)s")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="the curve has one (default %(default)s)")
    parser.add_argument("--engines", default=",".join(ENGINES), metavar="NAMES", help="default %(default)s")
    parser.add_argument("--peers-up-to", type=float, default=1e9, metavar="MB", help="larger texts are for ours alone")
    parser.add_argument(
        "--quick", dest="peers_up_to", action="store_const", const=100.0, help="the same as --peers-up-to 100"
    )
    add_outputs(parser, BEGIN)
    return parser


def run_bench(options: argparse.Namespace, progress: Callable[[str], None]) -> Bench:
    """Measure what the options ask for."""
    engines = options.engines.split(",")
    unknown = set(engines) - set(ENGINES)
    if unknown:
        raise ValueError(f"no trainer named {', '.join(sorted(unknown))}; there are: {', '.join(ENGINES)}")
    machine = [
        f"Machine: {cpu_model()}, {len(all_cores())} of {os.cpu_count()} cores, {options.threads} threads",
        f"Vocabulary of {options.vocab_size:,}, gpt2's pattern; medians of {options.rounds} rounds, the curve of one",
    ]
    if hasattr(os, "getloadavg"):
        machine.append(f"Processes at work when it began, besides: {os.getloadavg()[0]:.1f}")
    settings = {name: getattr(options, name) for name in ("megabytes", "vocab_size", "threads", "rounds")}
    bench = Bench(machine, settings)
    sizes = [(options.text, options.megabytes, options.rounds)]
    sizes += [(options.curve_text or options.text, float(size), 1) for size in options.curve.split(",") if size]
    with TemporaryDirectory(prefix="crayon-bench-training-") as directory:
        for spec, megabytes, rounds in sizes:
            name, data = text_of(spec, int(megabytes * 1e6))
            if len(data) < megabytes * 0.99e6:
                if bench.runs:
                    bench.machine.append(f"{name} has no {megabytes:g} MB, and text is not repeated: no such figures")
                    continue
                progress(f"{name} has only {len(data) / 1e6:.1f} MB")
            path = os.path.join(directory, f"{name}.txt")
            Path(path).write_bytes(data)
            bench.machine.append(f"Text: {name}, {len(data) / 1e6:.1f} MB")
            del data
            few = engines if megabytes <= options.peers_up_to else [OURS]
            bench.runs += measure(path, few, options.vocab_size, options.threads, rounds, progress)
            if options.json:
                bench.keep(options.json)
    return bench


def main(argv: Sequence[str] | None = None) -> int:
    """The command: 0 when the targets are met, 1 when not, 2 for misuse, 130 for Ctrl-C."""
    return run_command(make_parser(), argv, Bench, run_bench, to_markdown, shortfalls, (BEGIN, END))


if __name__ == "__main__":
    sys.exit(main())

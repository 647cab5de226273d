"""``python -m crayon_hf.parity.bench_corpora``: files of text to files of tokens, beside other tools.

Every figure comes from fresh processes, timed from their start to their end; the engines take turns, so that a slow
minute of the machine hits all alike, and all are given the same cores, as many as ``--workers``. In every round the ids
and the ends of documents in the files are compared with those of `encode_ragged` over the same texts, whose speed is
the ceiling of any such job. Slow engines get the first part of the files (``--share``).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .bench.machine import cpu_model
from .bench.processes import all_cores
from .bench.tables import rounded
from .bench.turns import TurnsBench, add_outputs, run_command
from .corpora_engines import ENGINES, read_back
from .harness.children import isolated
from .inputs.texts import DOCUMENT_BYTES, documents, find_text, read_text

BEGIN = "<!-- bench-corpora: begin -->"
END = "<!-- bench-corpora: end -->"
CEILING, OURS = "encode_ragged", "crayon"
LIMIT = 3600.0
"""Seconds that one job may take."""

_FILE_BYTES, _LEAST_FILES = 80_000_000, 10
_SHARES = "datatrove=0.1,crayon_in_datatrove=0.1"

_PROGRAM = isolated("""
import json, runpy
sys.path[:] = json.loads(sys.argv[1]) or sys.path
runpy.run_path(sys.argv[2], run_name="__main__")
""")


@dataclass
class Corpus:
    """The generated files, and how many bytes of text are in the first so many of them."""

    files: list[str]
    text: list[int]
    documents: list[int]

    def up_to(self, share: float, workers: int = 1) -> int:
        """How many files make a share of the text; a multiple of `workers`, so that none waits for the others."""
        count = next((i for i, size in enumerate(self.text, 1) if size >= share * self.text[-1]), len(self.text))
        return min(len(self.text), -(-count // workers) * workers)


@dataclass
class Run:
    """All jobs of one engine."""

    engine: str
    files: int
    megabytes: float
    """Of text, as UTF-8."""
    version: str = ""
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)
    """The most memory of all processes together, pages that they share counted once, looked at every 50 ms."""
    anonymous_mb: list[float] = field(default_factory=list)
    """What of it is no page of a file."""
    tokens: int = 0
    same_ids: bool | None = None
    failed: str = ""

    @property
    def speed(self) -> float:
        """Megabytes of text in a second, the median."""
        return self.megabytes / statistics.median(self.seconds)


class Bench(TurnsBench[Run]):
    """A finished run."""

    run_type = Run


# -- the corpus


def generate(directory: Path, texts: Sequence[str], size: int, workers: int = 1) -> Corpus:
    """Write jsonl files of about `size` bytes of text: documents of 2 KB of the texts, drawn again and again.

    The number of files is a multiple of `workers`.
    The same each time. Real text, so that words are as frequent as they are; a document that comes again is as quick
    for every engine that remembers words.
    """
    pool = [text for spec in texts for text in documents(read_text(find_text(spec)), DOCUMENT_BYTES)]
    generator = random.Random(1)
    files = max(_LEAST_FILES, -(-size // _FILE_BYTES))
    files = -(-files // workers) * workers
    corpus = Corpus([], [], [])
    written = count = 0
    for number in range(files):
        path = directory / f"{number:05}.jsonl"
        until = size * (number + 1) // files
        with open(path, "w", encoding="utf-8") as file:
            while written < until:
                text = generator.choice(pool)
                file.write(json.dumps({"id": count, "text": text}, ensure_ascii=False) + "\n")
                written += len(text.encode())
                count += 1
        corpus.files.append(str(path))
        corpus.text.append(written)
        corpus.documents.append(count)
    return corpus


# -- jobs


def run_once(run: Run, corpus: Corpus, tokenizer: str, workers: int, python: str, directory: Path) -> dict[str, Any]:
    """Add a job in fresh processes to a run; what it said, with the directory of its files, or ``run.failed``."""
    work = Path(tempfile.mkdtemp(prefix=f"{run.engine}-", dir=directory))
    inputs = work / "in"  # of a share of the files alone: some readers take a directory
    inputs.mkdir()
    names = []
    for name in corpus.files[: run.files]:
        os.link(name, inputs / Path(name).name)
        names.append(str(inputs / Path(name).name))
    job: dict[str, Any] = {"engine": run.engine, "files": names, "output": str(work / "out"), "tokenizer": tokenizer}
    job |= {"workers": workers, "cores": all_cores()[-workers:]}
    path = json.dumps([] if python else sys.path)
    script = str(Path(__file__).with_name("corpora_engines.py"))
    started = time.perf_counter()
    with open(work / "said", "w+b") as said, open(work / "errors", "w+b") as errors:
        child = subprocess.Popen(
            [python or sys.executable, "-c", _PROGRAM, path, script],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=errors,
            cwd=work,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            start_new_session=True,
        )
        try:
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended: its status says how
                child.stdin.write((json.dumps(job) + "\n").encode())
                child.stdin.close()
            peak = anonymous = 0.0
            processor: dict[int, float] = {}
            while True:
                ended, status, usage = os.wait4(child.pid, os.WNOHANG)
                if ended:
                    break
                if time.perf_counter() - started > LIMIT and not run.failed:
                    run.failed = f"over {LIMIT:g} s"
                    end_group(child.pid)
                now = look_at_tree(child.pid, processor)
                peak, anonymous = max(peak, now[0]), max(anonymous, now[1])
                time.sleep(0.05)
            seconds = time.perf_counter() - started
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:  # also when this process is interrupted: nobody takes time from the next one, or writes on
            end_group(child.pid)
            child.wait()
        errors.seek(0)
        said.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
        answer = said.read().decode(errors="replace").strip().splitlines()
    if not run.failed and (child.returncode or not answer):
        run.failed = (lines or [f"the process ended with code {child.returncode}"])[-1][:200]
    if run.failed:
        return {"work": work}
    result: dict[str, Any] = json.loads(answer[-1])
    run.version = result["version"]
    run.seconds.append(result.get("seconds", seconds))
    # What nobody waited for is in no usage; what lived less than 50 ms is in that alone.
    run.cpu.append(result.get("cpu", max(usage.ru_utime + usage.ru_stime, sum(processor.values()))))
    run.peak_mb.append(peak)
    run.anonymous_mb.append(anonymous)
    return {**result, "work": work}


def end_group(group: int) -> None:
    """Kill all processes of a group, and wait until they are gone; a parent may still have to ask for their status."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        if not any(_is_of_group(status, group) for status in Path("/proc").glob("[0-9]*/stat")):
            return
        time.sleep(0.01)


def _is_of_group(status: Path, group: int) -> bool:
    try:
        state, _, of = status.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[:3]
    except (OSError, ValueError):
        return False  # it has just ended
    return int(of) == group and state not in "ZX"


def look_at_tree(pid: int, processor: dict[int, float]) -> tuple[float, float]:
    """Memory of a process and of all below it, in MB, shared pages in shares; and what of it is no page of a file.

    `processor` gets how many seconds of it each has had until now.
    """
    total = anonymous = 0.0
    left = [pid]
    ticks = os.sysconf("SC_CLK_TCK")
    while left:
        each = left.pop()
        try:
            times = Path(f"/proc/{each}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            processor[each] = (int(times[11]) + int(times[12])) / ticks
            for task in Path(f"/proc/{each}/task").iterdir():
                left += map(int, (task / "children").read_text(encoding="ascii").split())
            for line in Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(":")
                if name == "Pss":
                    total += int(value.split()[0]) * 1024 / 1e6
                elif name == "Pss_Anon":
                    anonymous += int(value.split()[0]) * 1024 / 1e6
        except (OSError, ValueError):
            continue  # it has just ended
    return total, anonymous


def measure(
    corpus: Corpus,
    engines: Sequence[str],
    tokenizer: str,
    workers: int,
    rounds: int,
    shares: dict[str, float],
    pythons: dict[str, str],
    directory: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Do the job with all engines in turns."""
    runs = []
    for engine in engines:
        files = corpus.up_to(shares.get(engine, 1.0), workers)
        runs.append(Run(engine, files, corpus.text[files - 1] / 1e6))
    expected: set[tuple[str, ...]] = set()
    found: dict[str, set[str]] = {}
    for done in range(rounds):
        turn = done % max(1, len(runs))
        for run in [*runs[turn:], *runs[:turn]]:
            if run.failed:
                continue
            result = run_once(run, corpus, tokenizer, workers, pythons.get(run.engine, ""), directory)
            if "digests" in result:
                expected.add(tuple(result["digests"]))
                run.tokens = result["tokens"]
            elif not run.failed:
                try:
                    digest, run.tokens = _ids(result["work"] / "out", tokenizer)
                    found.setdefault(run.engine, set()).add(digest)
                except (OSError, ValueError) as error:
                    run.failed = f"its files cannot be read: {error}"
            shutil.rmtree(result["work"])
            took = run.failed or f"{run.seconds[-1]:.2f} s, {run.peak_mb[-1]:.0f} MB"
            progress(f"round {done + 1}, {run.engine}, {run.megabytes:.0f} MB of text: {took}")
    for run in runs:
        if expected and run.engine in found:
            run.same_ids = found[run.engine] == {digests[run.files - 1] for digests in expected}
    return runs


def _ids(output: Path, tokenizer: str) -> tuple[str, int]:
    from crayon_hf.loading.resolve import open_tokenizer

    return read_back(str(output), 2 if open_tokenizer(tokenizer).get_vocab_size() <= 1 << 16 else 4)


# -- what comes of it


def to_markdown(bench: Bench) -> str:
    """The table."""
    lines = [f"- {line}" for line in bench.machine]
    ceiling = next((run for run in bench.runs if run.engine == CEILING and run.seconds), None)
    lines += [
        "",
        "| | text, MB | MB/s | of `encode_ragged` | s | of the processor | memory, MB | no file's | ids |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for run in bench.runs:
        name = f"{run.engine} {run.version}".strip()
        if run.failed or not run.seconds:
            lines.append(f"| {name} | {run.megabytes:,.0f} | {run.failed} | | | | | | |")
            continue
        share = f"{run.speed / ceiling.speed:.0%}" if ceiling else ""
        same = {None: "", True: "equal", False: "**other ids**"}[run.same_ids]
        figures = [statistics.median(run.seconds), statistics.median(run.cpu)]
        memory = [max(run.peak_mb), max(run.anonymous_mb)]
        cells = [f"{run.megabytes:,.0f}", rounded(run.speed), share, *map(rounded, figures)]
        lines.append(f"| {name} | {' | '.join([*cells, *(f'{each:,.0f}' for each in memory), same])} |")
    return "\n".join(lines) + "\n"


def shortfalls(bench: Bench) -> list[str]:
    """What misses its target: equal ids, 60% of the speed of `encode_ragged`, 1 GB of memory, no slower than others.

    Who has other ids, or ids that were not compared, is no contestant.
    """
    by_engine = {run.engine: run for run in bench.runs if not run.failed and run.seconds}
    ceiling, ours = by_engine.pop(CEILING, None), by_engine.pop(OURS, None)
    if ours is None:
        return ["ours was not measured"]
    found = []
    if ceiling is None:
        found.append("encode_ragged was not measured: there is nothing to compare with")
    elif ours.speed < 0.6 * ceiling.speed:
        found.append(f"{ours.speed / ceiling.speed:.0%} of the speed of encode_ragged")
    if ours.same_ids is None:
        found.append("ids were not compared")
    elif not ours.same_ids:
        found.append("other ids than encode_ragged's")
    if max(ours.peak_mb) > 1000:
        found.append(f"{max(ours.peak_mb):,.0f} MB of memory")
    found += [f"{run.engine} is faster" for run in by_engine.values() if run.same_ids and run.speed > ours.speed]
    return found


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m crayon_hf.parity.bench_corpora", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2, metavar="GB", help="of text (default %(default)s)")
    parser.add_argument("--text", default="english,code,multi", metavar="TEXT,...", help="names or files of real text")
    parser.add_argument("--tokenizer", required=True, metavar="FILE", help="a tokenizer.json")
    parser.add_argument("--engines", default=",".join(ENGINES), metavar="NAMES", help="default %(default)s")
    parser.add_argument("--share", default=_SHARES, metavar="NAME=PART,...", help="of the text (default %(default)s)")
    parser.add_argument("--python", default="", metavar="NAME=FILE,...", help="interpreters that have a peer installed")
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="cores, and processes or threads (default %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default %(default)s")
    parser.add_argument("--directory", metavar="DIR", help="for all files, which go again (default: a temporary one)")
    add_outputs(parser, BEGIN)
    return parser


def run_bench(options: argparse.Namespace, progress: Callable[[str], None]) -> Bench:
    """Measure what the options ask for."""
    engines = options.engines.split(",")
    unknown = set(engines) - set(ENGINES)
    if unknown:
        raise ValueError(f"no engine named {', '.join(sorted(unknown))}; there are: {', '.join(ENGINES)}")
    if CEILING not in engines:
        raise ValueError(f"--engines lacks {CEILING}: there is nothing to compare ids with")
    if not 0 < options.workers <= len(all_cores()):
        raise ValueError(f"--workers is {options.workers}, expected 1 to {len(all_cores())}, the number of cores")
    shares = {name: float(part) for name, part in _pairs(options.share)}
    if CEILING in shares:
        raise ValueError(f"--share has {CEILING}, which all the others are compared with")
    pythons = dict(_pairs(options.python))
    tokenizer = os.path.abspath(options.tokenizer)
    with tempfile.TemporaryDirectory(prefix="crayon-bench-corpora-", dir=options.directory) as name:
        directory = Path(name)
        (directory / "texts").mkdir()
        corpus = generate(directory / "texts", options.text.split(","), int(options.gigabytes * 1e9), options.workers)
        stored = sum(os.path.getsize(file) for file in corpus.files)
        machine = [
            f"Machine: {cpu_model()}, {options.workers} of {os.cpu_count()} cores, {options.workers} workers",
            f"Corpus: {corpus.text[-1] / 1e6:,.0f} MB of text in {corpus.documents[-1]:,} documents of jsonl, "
            f"{stored / 1e6:,.0f} MB in {len(corpus.files)} files that the system has just written",
            f"Tokenizer: {Path(tokenizer).parent.name}; {options.rounds} rounds: medians, and the most of memory",
        ]
        settings = {name: getattr(options, name) for name in ("gigabytes", "text", "workers", "rounds")}
        runs = measure(
            corpus, engines, tokenizer, options.workers, options.rounds, shares, pythons, directory, progress
        )
    bench = Bench(machine, settings, runs)
    if options.json:
        bench.keep(options.json)
    return bench


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for item in filter(None, text.split(",")):
        name, sign, value = item.partition("=")
        if not sign or name not in ENGINES:
            raise ValueError(f"{item!r} is not NAME=VALUE with one of {', '.join(ENGINES)}")
        pairs.append((name, value))
    return pairs


def main(argv: Sequence[str] | None = None) -> int:
    """The command: 0 when the targets are met, 1 when not, 2 for misuse, 130 and 143 for Ctrl-C and SIGTERM."""
    if threading.current_thread() is threading.main_thread():  # so that children end, and files go, with this process
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    return run_command(make_parser(), argv, Bench, run_bench, to_markdown, shortfalls, (BEGIN, END))


if __name__ == "__main__":
    sys.exit(main())

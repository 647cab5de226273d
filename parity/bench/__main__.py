"""The benchmark as a command, and as a function."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.cartridges.cache import cache_directory
from crayon_hf.cli.arguments import DEFAULT
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.inputs.texts import CORPUS, UnknownVocabularyError, find_text, python_library, shared_directory
from crayon_hf.parity.speed.child.engines import ENGINES
from crayon_hf.parity.speed.figures import SCHEMA, Figure, Report
from crayon_hf.parity.speed.inputs import Inputs, Sizes, make_inputs
from crayon_hf.parity.speed.machine import machine_lines, touch_memory
from crayon_hf.parity.speed.measuring import BenchError, measure
from crayon_hf.parity.speed.processes import PEERS, Engine, all_cores
from crayon_hf.parity.speed.vocabularies import NINE, find_any
from parity.environments import environment

from .jobs import JOBS, measure_job
from .tables import plain, put_between_marks, to_markdown
from .targets import SCENARIOS

__all__ = ["Bench", "from_options", "main", "run_bench", "write"]

PRERELEASE = "tokenizers==1.0.0rc3"
QUICK = Sizes(1_000_000, 300_000, 50_000, 50_000, 50, 500_000, 200_000, 8_000_000)
QUICK_SCENARIOS = ("first", "repeated", "new-words", "short", "decode", "open", "hostile")


@dataclass
class Bench:
    """A finished run."""

    machine: list[str]
    settings: str
    reports: list[Report] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain values, every round."""
        reports = [report.to_json() for report in self.reports]
        return {"schema": SCHEMA, "machine": self.machine, "settings": self.settings, "reports": reports}

    @staticmethod
    def from_json(plain: dict[str, Any]) -> Bench:
        """What ``to_json`` gave."""
        if plain.get("schema") != SCHEMA:
            raise ValueError(f"these figures are of schema {plain.get('schema')}, not {SCHEMA}: measure again")
        return Bench(plain["machine"], plain["settings"], [Report.from_json(each) for each in plain["reports"]])

    def to_markdown(
        self, reasons: Sequence[dict[str, Any]] = (), clock: str = "wall", with_targets: bool = True
    ) -> str:
        """All tables; with the clock ``cpu``, what has one thread goes by the processor's time."""
        if clock == "wall":
            return to_markdown(self.machine, self.reports, self.settings, reasons, with_targets)
        reports = [replace(report, figures=list(map(_by_cpu, report.figures))) for report in self.reports]
        settings = f"{self.settings}; with one thread by the processor's time, not by the clock"
        return to_markdown(self.machine, reports, settings, reasons, with_targets)

    @property
    def same_ids(self) -> bool:
        """Whether ours gave the reference's ids everywhere."""
        return all(report.same_ids for report in self.reports)


def _by_cpu(figure: Figure) -> Figure:
    return replace(figure, rounds=figure.cpu) if figure.threads == 1 and figure.cpu else figure


def run_bench(
    vocabularies: Sequence[str | Vocabulary],
    engines: Sequence[Engine] = tuple(map(Engine, PEERS)),
    texts: Sequence[str | os.PathLike[str]] = CORPUS,
    scenarios: Sequence[str] = SCENARIOS,
    threads: Sequence[int] = (1,),
    rounds: int = 3,
    *,
    sizes: Sizes | None = None,
    job_bytes: int | None = None,
    job_engines: Sequence[str] | None = None,
    minutes: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
    keep: Callable[[Bench], None] = lambda _: None,
) -> Bench:
    """Measure; ``minutes`` is how long it may take, as long as each vocabulary gets one round.

    ``keep`` is given what there is after each vocabulary. Jobs have ``job_bytes`` of each text, and of their engines
    those in ``job_engines``.
    """
    sizes = sizes or Sizes()
    jobs = [scenario for scenario in scenarios if scenario in JOBS]
    scenarios = [scenario for scenario in scenarios if scenario not in JOBS]
    if not vocabularies:
        raise BenchError("no vocabulary to measure")
    started = time.monotonic()
    with TemporaryDirectory(prefix="crayon-bench-") as directory:
        found = [each if isinstance(each, Vocabulary) else find_any(each, directory) for each in vocabularies]
        progress("texts")
        inputs = make_inputs([os.fspath(text) for text in texts], directory, sizes, scenarios)
        if inputs.texts:
            touch_memory(min(2 << 30, 200 * max(text.bytes for text in inputs.texts.values())))
        reports: list[Report] = []

        def add_jobs(report: Report, vocabulary: Vocabulary | None, names: Sequence[str]) -> None:
            options: dict[str, Any] = {"threads": max(threads), "rounds": rounds, "bytes": job_bytes}
            options["prerelease"] = next((engine.python for engine in engines if engine.name == "prerelease"), "")
            for name in names:
                measure_job(
                    name, vocabulary, [os.fspath(text) for text in texts], report,
                    engines=job_engines, progress=progress, **options,
                )  # fmt: skip

        for number, vocabulary in enumerate(found):
            until = None
            if minutes is not None:
                left = started + minutes * 60 - time.monotonic()
                until = time.monotonic() + left / (len(found) - number)
            options: dict[str, Any] = {"until": until, "progress": progress}
            report = Report(vocabulary.name, vocabulary.reference_version)
            if scenarios:
                report = measure(vocabulary, engines, inputs, scenarios, threads, rounds, **options)
            add_jobs(report, vocabulary, [job for job in jobs if job != "training"])
            if report.figures or scenarios:
                reports.append(report)
            if "training" in jobs and vocabulary is found[-1]:
                reports.append(Report("training", "tokenizers"))
                add_jobs(reports[-1], None, ["training"])
            versions = {
                name: standing.version
                for report in reports
                for name, standing in report.standings.items()
                if standing.version
            }
            settings = (
                f"{rounds} round{'s'[: rounds != 1]} at most; {', '.join([*scenarios, *jobs])}; "
                f"{(time.monotonic() - started) / 60:.1f} minutes"
            )
            bench = Bench(machine_lines(_sizes(inputs), versions), settings, list(reports))
            keep(bench)
        return bench


def _sizes(inputs: Inputs) -> dict[str, dict[str, int]]:
    return {name: {"bytes": text.bytes, "documents": text.documents} for name, text in inputs.texts.items()}


# -- the command line


def from_options(
    options: argparse.Namespace,
    vocabularies: Sequence[str | Vocabulary],
    texts: Sequence[str],
    progress: Callable[[str], None],
    ours: str = "",
) -> Bench:
    """Measure what the options ask for. ``ours`` (``module:function``) stands in for crayon_hf.Tokenizer."""
    peers = [name for name in options.engines or PEERS if name in PEERS]
    engines = [Engine(name, stand_in=ours if name == "crayon" else "") for name in peers]
    engines += options.peer
    if options.prerelease_python or options.prerelease:
        if not options.prerelease_python:
            progress("the environment of the pre-release")
        engines.append(Engine("prerelease", python=options.prerelease_python or _prerelease()))
    sizes = QUICK if options.quick else Sizes()
    if options.megabytes is not None:
        limit = int(options.megabytes * 1e6)
        kept = {
            name: min(value, limit) for name, value in vars(sizes).items() if "lines" not in name and name != "short"
        }
        sizes = Sizes(**{**vars(sizes), **kept, "text": limit, "memory": sizes.memory})
    rounds = options.rounds if options.rounds is not None else 1 if options.quick else 3
    threads = options.threads or thread_counts("1" if options.quick else "1,all")
    scenarios = options.scenario or (QUICK_SCENARIOS if options.quick else SCENARIOS)

    def keep(bench: Bench) -> None:  # a long run that is cut off has what it measured
        if options.json and options.json != "-":
            _write_json(bench, options.json)

    return run_bench(
        vocabularies,
        engines,
        texts,
        scenarios,
        threads,
        rounds,
        sizes=sizes,
        job_bytes=None if options.megabytes is None else int(options.megabytes * 1e6),
        job_engines=options.engines,
        minutes=options.minutes,
        progress=progress,
        keep=keep,
    )


def _prerelease() -> str:
    """The interpreter of its environment, in the cache: transformers refuses to be beside it."""
    home = f"{PRERELEASE.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    return str(environment(Path(cache_directory(), "bench", home), [PRERELEASE]))


def _write_json(bench: Bench, path: str) -> None:
    text = json.dumps(bench.to_json(), ensure_ascii=False, indent=1)
    Path(path).write_text(text + "\n", encoding="utf-8")


def read_reasons(path: str | None) -> list[dict[str, Any]]:
    """Why cells fall short: a list of objects with ``why`` and ``moves``, and what cells they are for."""
    if path is None:
        return []
    reasons: list[dict[str, Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
    for reason in reasons:
        unknown = set(reason) - {"scenario", "text", "threads", "vocabulary", "why", "moves"}
        if unknown or not {"why", "moves"} <= set(reason):
            raise ValueError(f"{path}: a reason has why and moves, and scenario, text, threads, vocabulary: {reason}")
    return reasons


def write(bench: Bench, options: argparse.Namespace, say: Callable[[str], object] = print) -> None:
    """JSON where it is asked for, and the tables: into a document, or to the standard output."""
    reasons = read_reasons(options.reasons)
    with_targets = options.targets or options.reasons is not None
    if options.json == "-":
        say(json.dumps(bench.to_json(), ensure_ascii=False, indent=1))
    elif options.json:
        _write_json(bench, options.json)
    if options.markdown:
        put_between_marks(options.markdown, bench.to_markdown(reasons, options.clock, with_targets))
    elif options.json != "-":
        say(plain(bench.to_markdown(reasons, options.clock, with_targets)).rstrip())


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.bench",
        description="Speed and memory beside any set of engines, on the same texts, after a comparison of ids.",
    )
    parser.add_argument(
        "vocabularies",
        nargs="*",
        metavar="VOCABULARY",
        help=f"a name, a profile or a path; default: {' '.join(NINE)}; the profile lite without $CRAYON_SHARED",
    )
    parser.add_argument(
        "--text",
        action="append",
        metavar="LIST",
        help="names (english,code,multi) or files; may be repeated; default: all three, without $CRAYON_SHARED the "
        "sources of Python's library",
    )
    parser.add_argument("--from", dest="kept", metavar="FILE", help="tables of figures that --json kept")
    parser.add_argument("--silent", action="store_true", help="no progress on the standard error")
    parser.add_argument("--ours", default="", help=argparse.SUPPRESS)
    add = parser.add_argument
    add(
        "--scenario",
        type=_scenarios,
        metavar="LIST",
        help="with commas between them: first, first-large, repeated, new-words, long-document, lines, short, decode, "
        "open, memory, hostile, lists (default: all; with --quick without first-large, long-document, lines, memory, "
        "lists); or jobs: training, corpora, file, process, transformers, server",
    )
    add(
        "--engines",
        type=_engines,
        metavar="LIST",
        help="with commas between them: crayon, tokenizers, tiktoken, gigatoken, fastokens, tokie; of jobs also "
        "rustbpe, datatrove, crayon_in_datatrove (default: all that are installed)",
    )
    add(
        "--peer",
        type=_peer,
        action="append",
        default=[],
        metavar="NAME=MODULE:FUNCTION",
        help="another engine: FUNCTION(path of a tokenizer.json) returns a function from texts to lists of ids",
    )
    add("--prerelease", action="store_true", help="also the pre-release of tokenizers, in a new environment")
    add("--prerelease-python", metavar="FILE", help="the interpreter of an environment that has it, instead")
    add("--threads", type=thread_counts, metavar="LIST", help="numbers of threads (default: 1,all; with --quick 1)")
    add("--rounds", type=int, metavar="N", help="time N times (default: 3; with --quick 1)")
    add(
        "--minutes", type=float, metavar="N", help="begin no further round that would take longer than N minutes in all"
    )
    add("--megabytes", type=float, metavar="MB", help="take so much of each text at most; for jobs, so much")
    add("--quick", action="store_true", help="little text and one round: rough figures in minutes")
    add("--json", metavar="FILE", help='every round as JSON; "-" is the standard output')
    add("--markdown", metavar="FILE", help="write the tables between the marks of this file")
    add("--targets", action="store_true", help="judge the figures by what this project promises, for its own pages")
    add("--reasons", metavar="FILE", help="JSON: with --targets: why cells fall short, and what would move them")
    add("--clock", choices=("wall", "cpu"), default="wall", help="what the tables of one thread go by (default: wall)")
    return parser


def thread_counts(text: str) -> list[int]:
    """Numbers such as ``1,2``; ``all`` is the number of cores that this process may use."""
    words = text.split(",")
    if "all" in words:
        words = [str(len(all_cores())) if word == "all" else word for word in words]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of threads such as 1,2 or 1,all")
    return sorted({int(word) for word in words})


def _known(text: str, known: tuple[str, ...], what: str) -> list[str]:
    for word in text.split(","):
        if word not in known:
            raise argparse.ArgumentTypeError(f"no {what} {word!r}; there are: {', '.join(known)}")
    return text.split(",")


def _scenarios(text: str) -> list[str]:
    return _known(text, (*SCENARIOS, *JOBS), "scenario")


def _engines(text: str) -> list[str]:
    of_jobs = (engine for job in JOBS.values() for engine in job.engines)
    return _known(text, tuple(dict.fromkeys((*PEERS, *of_jobs))), "engine")


def _peer(text: str) -> Engine:
    name, _, function = text.partition("=")
    if not name or ":" not in function or name in ENGINES:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=MODULE:FUNCTION with a new name")
    return Engine(name, stand_in=function)


@contextlib.contextmanager
def _exit_when_terminated() -> Iterator[None]:
    """SIGTERM is an exit, so that children end, and files go, with this process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: Sequence[str] | None = None) -> int:
    """The command: 0 when measured, 1 when ours gave other ids or nothing could be measured, 2 for misuse."""
    parser = make_parser()
    options = parser.parse_args(argv)
    specs = [spec for text in options.text or () for spec in ([text] if Path(text).is_file() else text.split(","))]
    started = time.monotonic()

    def progress(message: str) -> None:
        if not options.silent:
            print(f"{time.monotonic() - started:7.1f} s  {message}", file=sys.stderr, flush=True)

    try:
        if options.kept:
            bench = Bench.from_json(json.loads(Path(options.kept).read_text(encoding="utf-8")))
        else:
            for spec in specs:
                find_text(spec)
            with _exit_when_terminated(), TemporaryDirectory(prefix="crayon-bench-") as directory:
                is_shared = shared_directory() is not None
                texts = specs or (CORPUS if is_shared else [python_library(directory)])
                names = options.vocabularies or (NINE if is_shared else [DEFAULT])
                found = [find_any(name, directory) for name in names]
                bench = from_options(options, found, texts, progress, options.ours)
        write(bench, options)
    except (UnknownVocabularyError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except (BenchError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0 if bench.same_ids else 1


if __name__ == "__main__":
    sys.exit(main())

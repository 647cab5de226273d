"""The benchmark as a command, and as a function."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
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
from crayon_hf.parity.inputs.texts import (
    UnknownVocabularyError,
    default_texts,
    find_text,
    read_text,
    shared_directory,
)
from crayon_hf.parity.speed.child.engines import ENGINES
from crayon_hf.parity.speed.figures import SCHEMA, Report
from crayon_hf.parity.speed.inputs import Sizes, make_inputs
from crayon_hf.parity.speed.machine import machine_lines, touch_memory
from crayon_hf.parity.speed.measuring import BenchError, measure
from crayon_hf.parity.speed.processes import PEERS, Engine, all_cores
from crayon_hf.parity.speed.vocabularies import NINE, find_any
from crayon_hf.util.markdown import put_between_marks
from parity.crayon.__main__ import shipped
from parity.environments import environment
from parity.texts import KINDS, WORDS, write_text

from .jobs import JOBS, measure_job
from .tables import plain, to_markdown

__all__ = ["Bench", "main", "run_bench"]

SCENARIOS = (
    *("first", "first-large", "repeated", "new-words", "long-document", "lines", "short", "decode", "open", "memory"),
    *("hostile", "lists"),
)
QUICK = Sizes(1_000_000, 300_000, 50_000, 50_000, 50, 500_000, 200_000, 8_000_000)
QUICK_SCENARIOS = ("first", "repeated", "new-words", "short", "decode", "open", "hostile")
OTHERS = {"prerelease": "tokenizers==1.0.0rc3", "xerv": "xerv-crayon==5.3.8", "xerv-5.7": "xerv-crayon==5.7.16"}
"""Requirements of the engines that are not in the extra ``bench``."""
LITE = "crayon-lite"
"""The name of CRAYON's own cartridge."""
OF_LITE = ("crayon", "tokenize", "xerv", "xerv-5.7")


@dataclass
class Bench:
    """The results of a finished run of the benchmark."""

    machine: list[str]
    settings: str
    reports: list[Report] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain values, with every round."""
        reports = [report.to_json() for report in self.reports]
        return {"schema": SCHEMA, "machine": self.machine, "settings": self.settings, "reports": reports}

    @staticmethod
    def from_json(plain: dict[str, Any]) -> Bench:
        """Make the results again from the values that ``to_json`` returned."""
        if plain.get("schema") != SCHEMA:
            raise ValueError(f"these figures are of schema {plain.get('schema')}, not {SCHEMA}: measure again")
        return Bench(plain["machine"], plain["settings"], [Report.from_json(each) for each in plain["reports"]])

    def to_markdown(self) -> str:
        """All tables, as Markdown."""
        return to_markdown(self.machine, self.reports, self.settings)

    @property
    def same_ids(self) -> bool:
        """Whether our ids equal the reference's everywhere."""
        return all(report.same_ids for report in self.reports)


def run_bench(
    vocabularies: Sequence[Vocabulary],
    engines: Sequence[Engine],
    texts: Sequence[str],
    scenarios: Sequence[str] = SCENARIOS,
    threads: Sequence[int] = (1,),
    rounds: int = 3,
    *,
    sizes: Sizes | None = None,
    scale: Sequence[float] = (),
    job_bytes: int | None = None,
    minutes: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
    keep: Callable[[Bench], None] = lambda _: None,
) -> Bench:
    """Measure, for about ``minutes`` at most; each vocabulary gets at least one round.

    After each vocabulary, ``keep`` gets all results so far. Jobs read ``job_bytes`` of each text. With ``scale``, in
    MB, ``texts`` are kinds of `parity.texts`, and only passes over texts of these sizes are measured.
    """
    scenarios = ["scale"] if scale else scenarios
    jobs = [scenario for scenario in scenarios if scenario in JOBS]
    scenarios = [scenario for scenario in scenarios if scenario not in JOBS]
    if not vocabularies:
        raise BenchError("no vocabulary to measure")
    started = time.monotonic()
    bench = Bench([], "")
    with TemporaryDirectory(prefix="crayon-bench-") as directory:
        progress("texts")
        large, origins = _write_scale(texts, scale, vocabularies, directory) if scale else ({}, [])
        inputs = make_inputs(() if scale else texts, directory, sizes or Sizes(), scenarios, large)
        if inputs.texts and not scale:
            touch_memory(min(2 << 30, 200 * max(text.bytes for text in inputs.texts.values())))
        options = {"threads": max(threads), "rounds": rounds, "bytes": job_bytes, "progress": progress}
        for number, vocabulary in enumerate(vocabularies):
            until = None
            if minutes is not None:
                left = started + minutes * 60 - time.monotonic()
                until = time.monotonic() + left / (len(vocabularies) - number)
            report = Report(vocabulary.name, vocabulary.kind)
            if scenarios:
                report = measure(
                    vocabulary, engines, inputs, scenarios, threads, rounds, until=until, progress=progress
                )
            for job in jobs:
                if job != "training":
                    measure_job(job, vocabulary, texts, report, engines=engines, **options)  # type: ignore[arg-type]
            if report.figures or scenarios:
                bench.reports.append(report)
            if "training" in jobs and vocabulary is vocabularies[-1]:
                bench.reports.append(Report("training", "tokenizers"))
                measure_job("training", None, texts, bench.reports[-1], engines=engines, **options)  # type: ignore[arg-type]
            versions = {name: each.version for one in bench.reports for name, each in one.standings.items()}
            entries = {name: {"bytes": text.bytes, "documents": text.documents} for name, text in inputs.texts.items()}
            bench.machine = machine_lines(entries, {name: said for name, said in versions.items() if said}) + origins
            bench.settings = (
                f"{rounds} round{'s'[: rounds != 1]} at most; {', '.join([*scenarios, *jobs])}; "
                f"{(time.monotonic() - started) / 60:.1f} minutes"
            )
            keep(bench)
    return bench


def _write_scale(
    kinds: Sequence[str], scale: Sequence[float], vocabularies: Sequence[Vocabulary], directory: str
) -> tuple[dict[str, str], list[str]]:
    """Write texts without special tokens. Return their paths by name, and lines on the texts' origins."""
    specials = {token for vocabulary in vocabularies for token in vocabulary.specials() if len(token.strip()) > 1}
    paths, lines = {}, []
    for kind in kinds:
        whole = Path(directory, f"{kind}.txt")
        origin = write_text(kind, int(max(scale) * 1e6), whole, specials)
        lines.append(f"- {kind}: {origin}; a smaller text is the beginning of it")
        for size in sorted(scale):
            data = read_text(whole, int(size * 1e6))
            path = Path(directory, f"{kind}-{size:g}.txt")
            path.write_bytes(data)
            paths[f"{kind}, {len(data) / 1e6:.3g} MB"] = str(path)
        whole.unlink()
    return paths, lines


# -- the command line


def _engines_of(options: argparse.Namespace, is_of_crayon: bool) -> list[Engine]:
    """Return the engines of a run. With `--install`, some get the interpreters of environments made for them."""
    names = options.engines or list(OF_LITE if is_of_crayon else (*PEERS, *["prerelease"] * options.install))
    python = dict(options.python)
    for name in names if options.install else ():
        if name in OTHERS or name in ("gigatoken", "fastokens", "tokie"):
            python.setdefault(name, _installed(name))
    known = [Engine(each, python.get(each, ""), options.ours if each == "crayon" else "") for each in names]
    return [*known, *options.peer]


def _installed(name: str) -> str:
    """Return the interpreter of an environment for this engine alone, made in the cache.

    Engines have environments of their own, since their requirements can conflict.
    """
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    package = OTHERS.get(name) or re.findall(f'"({name}==[^"]+)"', project)[0]
    home = f"{package.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    return str(environment(Path(cache_directory(), "bench", home), [package, "numpy"]))


def _measured(options: argparse.Namespace, directory: str, progress: Callable[[str], None]) -> Bench:
    """Run the benchmark according to the command's options."""
    specs = [spec for text in options.text or () for spec in ([text] if Path(text).is_file() else text.split(","))]
    kinds = (*KINDS, WORDS) if options.scale else ()
    for spec in specs:
        if spec not in kinds:
            find_text(spec)
    if options.scale and (unknown := [spec for spec in specs if spec not in kinds]):
        raise ValueError(f"--scale: no text {unknown[0]!r}; expected one of: {', '.join(kinds)}")
    is_shared = shared_directory() is not None
    texts = specs or list(KINDS if options.scale else default_texts(directory))
    names = options.vocabularies or (NINE if is_shared else [DEFAULT])
    engines = _engines_of(options, LITE in names)
    of_crayon = next((engine.python for engine in engines if engine.name == "xerv"), "")
    paths = [next(path for path in shipped(of_crayon) if "lite" in path) if name == LITE else name for name in names]
    found = [find_any(path, directory) for path in paths]
    sizes = QUICK if options.quick else Sizes()
    limit = None if options.megabytes is None else int(options.megabytes * 1e6)
    if limit is not None:
        kept = {name: min(value, limit) for name, value in vars(sizes).items() if value and value > 1_000_000}
        sizes = replace(sizes, **{**kept, "text": limit, "lines": sizes.lines, "memory": sizes.memory})

    def keep(bench: Bench) -> None:  # an interrupted run keeps its results
        if options.json and options.json != "-":
            Path(options.json).write_text(_as_json(bench), encoding="utf-8")

    return run_bench(
        found,
        engines,
        texts,
        options.scenario or (QUICK_SCENARIOS if options.quick else SCENARIOS),
        options.threads or thread_counts("1" if options.quick or options.scale else "1,all"),
        options.rounds if options.rounds is not None else 1 if options.quick else 3,
        sizes=sizes,
        scale=options.scale or (),
        job_bytes=limit,
        minutes=options.minutes,
        progress=progress,
        keep=keep,
    )


def _as_json(bench: Bench) -> str:
    return json.dumps(bench.to_json(), ensure_ascii=False, indent=1) + "\n"


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.bench",
        description="Speed and memory beside any set of engines, on the same texts, after a comparison of ids.",
    )
    add = parser.add_argument
    of_vocabularies = f"default: {' '.join(NINE)}; the profile lite without $CRAYON_SHARED"
    add("vocabularies", nargs="*", metavar="VOCABULARY",
        help=f"a name, a profile or a path, or {LITE}, CRAYON's own cartridge; {of_vocabularies}")  # fmt: skip
    add("--text", action="append", metavar="LIST",
        help="names (english,code,multi; with --scale also words) or files; may be repeated; default: all three, "
        "without $CRAYON_SHARED the sources of Python's library")  # fmt: skip
    add("--scenario", type=_scenarios, metavar="LIST",  # prose: long sentence
        help="separated by commas: first, first-large, repeated, new-words, long-document, lines, short, decode, "
        "open, memory, hostile, lists (default: all; with --quick without first-large, long-document, lines, memory, "
        "lists); or jobs: training, corpora, file, first-opening, transformers, server")  # fmt: skip
    add("--scale", type=_sizes, metavar="MB,MB",
        help="instead: passes over local texts of these sizes, in calls of 16 MB, and the memory")  # fmt: skip
    add("--engines", type=_engines, metavar="LIST",
        help="separated by commas: crayon, tokenizers, tiktoken, gigatoken, fastokens, tokie (the default), "
        f"prerelease (tokenizers 1.0); for {LITE}: crayon, tokenize, xerv, xerv-5.7; for jobs also rustbpe, datatrove, "
        "crayon_in_datatrove, no_cartridge, no_cache")  # fmt: skip
    of_install = "make an environment in the cache for each peer but tokenizers and tiktoken, and add prerelease"
    add("--install", action="store_true", help=of_install)
    add("--python", type=_pair, action="append", default=[], metavar="ENGINE=FILE",
        help="the interpreter of an environment that has this engine; may be repeated")  # fmt: skip
    of_peer = "another engine: FUNCTION(path of a tokenizer.json) returns a function from texts to lists of ids"
    add("--peer", type=_peer, action="append", default=[], metavar="NAME=MODULE:FUNCTION", help=of_peer)
    add("--threads", type=thread_counts, metavar="LIST",
        help="numbers of threads (default: 1,all; with --quick and --scale 1)")  # fmt: skip
    add("--rounds", type=int, metavar="N", help="time N times (default: 3; with --quick 1)")
    of_minutes = "begin no further round that would exceed N minutes in all"
    add("--minutes", type=float, metavar="N", help=of_minutes)
    add("--megabytes", type=float, metavar="MB", help="the most to read of each text; the amount for jobs")
    add("--quick", action="store_true", help="little text and one round: rough figures in minutes")
    add("--json", metavar="FILE", help='every round as JSON; "-" is the standard output')
    add("--markdown", metavar="FILE", help="write the tables between the marks of this file")
    add("--from", dest="kept", metavar="FILE", help="print the tables of figures that --json has kept")
    add("--silent", action="store_true", help="do not show progress on the standard error")
    add("--ours", default="", help=argparse.SUPPRESS)
    return parser


def thread_counts(text: str) -> list[int]:
    """Parse numbers such as ``1,2``. ``all`` is the number of cores that this process may use."""
    words = [str(len(all_cores())) if word == "all" else word for word in text.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of threads such as 1,2 or 1,all")
    return sorted({int(word) for word in words})


def _sizes(text: str) -> list[float]:
    sizes = [float(word) for word in text.split(",")]
    if min(sizes) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of MB such as 4,45,500")
    return sizes


def _known(text: str, known: Sequence[str], what: str) -> list[str]:
    for word in text.split(","):
        if word not in known:
            raise argparse.ArgumentTypeError(f"no {what} {word!r}; expected one of: {', '.join(known)}")
    return text.split(",")


def _scenarios(text: str) -> list[str]:
    return _known(text, (*SCENARIOS, *JOBS), "scenario")


def _engines(text: str) -> list[str]:
    of_jobs = (engine for job in JOBS.values() for engine in job.engines)
    return _known(text, tuple(dict.fromkeys((*PEERS, *OTHERS, *OF_LITE, *of_jobs))), "engine")


def _pair(text: str) -> tuple[str, str]:
    name, _, file = text.partition("=")
    if not Path(file).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not ENGINE=FILE")
    return name, file


def _peer(text: str) -> Engine:
    name, _, function = text.partition("=")
    if not name or ":" not in function or name in ENGINES:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=MODULE:FUNCTION with a new name")
    return Engine(name, stand_in=function)


@contextlib.contextmanager
def _exit_when_terminated() -> Iterator[None]:
    """Turn SIGTERM into an exit, so that child processes end and temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when measured, 1 when our ids differ or nothing could be measured, 2 for misuse."""
    parser = make_parser()
    options = parser.parse_args(argv)
    started = time.monotonic()

    def progress(message: str) -> None:
        if not options.silent:
            print(f"{time.monotonic() - started:7.1f} s  {message}", file=sys.stderr, flush=True)

    try:
        if options.kept:
            bench = Bench.from_json(json.loads(Path(options.kept).read_text(encoding="utf-8")))
        else:
            with _exit_when_terminated(), TemporaryDirectory(prefix="crayon-bench-") as directory:
                bench = _measured(options, directory, progress)
        if options.json and not options.kept:
            print(_as_json(bench), end="") if options.json == "-" else None
        if options.markdown:
            put_between_marks(options.markdown, "bench", bench.to_markdown())
        elif options.json != "-":
            print(plain(bench.to_markdown()).rstrip())
    except (UnknownVocabularyError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except (BenchError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0 if bench.same_ids else 1


if __name__ == "__main__":
    sys.exit(main())

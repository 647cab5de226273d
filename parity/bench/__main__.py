"""The benchmark as a command."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from crayon_hf.cartridges.cache import cache_directory
from crayon_hf.cli.arguments import DEFAULT
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.inputs.texts import default_texts, read_text, shared_directory
from crayon_hf.parity.speed.figures import Bench, Report
from crayon_hf.parity.speed.inputs import Read, Text, make_texts, sources_of
from crayon_hf.parity.speed.machine import machine_lines
from crayon_hf.parity.speed.measuring import BenchError, measure
from crayon_hf.parity.speed.processes import PEERS, Engine, all_cores
from crayon_hf.parity.speed.vocabularies import NINE, find_any
from crayon_hf.util.markdown import put_between_marks
from crayon_hf.util.progress import Progress
from crayon_hf.util.wording import plural
from parity.crayon.__main__ import shipped
from parity.environments import environment
from parity.texts import KINDS, WORDS, write_text

from .jobs import JOBS, measure_job
from .tables import to_markdown

SCENARIOS = (
    *("first", "first-large", "repeated", "new-words", "lines", "short", "decode", "open", "memory", "hostile"),
)
SIZE, QUICK_SIZE = 2_000_000, 1_000_000
"""The bytes of a text."""
QUICK_SCENARIOS = ("first", "repeated", "new-words", "short", "decode", "open", "hostile")
OTHERS = {"prerelease": "tokenizers==1.0.0rc3", "xerv": "xerv-crayon==5.3.8", "xerv-5.7": "xerv-crayon==5.7.16"}
"""Requirements of the engines that are not in the extra ``bench``."""
TRAINING = Vocabulary("training", "tokenizers", Path())
"""The vocabulary of a training, which needs none."""
LITE = "crayon-lite"
"""The name of CRAYON's own cartridge."""
OF_LITE = ("crayon", "tokenize", "xerv", "xerv-5.7")


def _engines_of(options: argparse.Namespace, is_of_crayon: bool) -> list[Engine]:
    """Return the engines of a run. With `--install`, some get the interpreters of environments made for them."""
    names = options.engines or list(OF_LITE if is_of_crayon else (*PEERS, *["prerelease"] * options.install))
    python, peers = dict(options.python), dict(options.peer)
    for name in names if options.install else ():
        if name in OTHERS or name in ("gigatoken", "fastokens", "tokie"):
            python.setdefault(name, _installed(name))
    return [Engine(name, python.get(name, ""), peers.get(name, "")) for name in dict.fromkeys([*names, *peers])]


def _installed(name: str) -> str:
    """Return the interpreter of an environment for this engine alone, made in the cache.

    Engines have environments of their own, since their requirements can conflict.
    """
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    package = OTHERS.get(name) or re.findall(f'"({name}==[^"]+)"', project)[0]
    home = f"{package.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    return str(environment(Path(cache_directory(), "bench", home), [package, "numpy"]))


def _measured(options: argparse.Namespace, directory: str, progress: Callable[[str], None]) -> Bench:
    """Run the benchmark according to the command's options. Each vocabulary gets at least one round."""
    specs = [spec for text in options.text or () for spec in ([text] if Path(text).is_file() else text.split(","))]
    specs = specs or list(KINDS if options.scale else default_texts(directory))
    if options.scale and (unknown := {*specs} - {*KINDS, WORDS}):
        raise ValueError(f"--scale: no text {min(unknown)!r}; expected one of: {', '.join((*KINDS, WORDS))}")
    names = options.vocabularies or (NINE if shared_directory() is not None else [DEFAULT])
    engines = _engines_of(options, LITE in names)
    of_crayon = next((engine.python for engine in engines if engine.name == "xerv"), "")
    paths = [next(path for path in shipped(of_crayon) if "lite" in path) if name == LITE else name for name in names]
    chosen = ["scale"] if options.scale else options.scenario or (QUICK_SCENARIOS if options.quick else SCENARIOS)
    jobs, scenarios = ([each for each in chosen if (each in JOBS) == is_job] for is_job in (True, False))
    threads = options.threads or thread_counts("1" if options.quick or options.scale else "1,all")
    rounds = options.rounds or (1 if options.quick else 3)
    limit = None if options.megabytes is None else int(options.megabytes * 1e6)
    vocabularies = [find_any(path, directory) for path in paths] if {*chosen} - {"training"} else []
    targets = [*vocabularies, *[TRAINING] * ("training" in jobs)]
    bench, started = Bench(), time.monotonic()
    progress("texts")
    texts, origins = list[Text](), list[str]()
    if options.scale:
        sources, origins = _local_sources(specs, max(options.scale), vocabularies, directory)
        texts = make_texts(sources, directory, max(options.scale), scenarios, options.scale)
    elif scenarios:
        size = limit or (QUICK_SIZE if options.quick else SIZE)
        texts = make_texts(sources_of(specs), directory, size, scenarios)
    for number, vocabulary in enumerate(targets):
        report = Report(vocabulary.name, vocabulary.kind)
        if scenarios and vocabulary is not TRAINING:
            until = None
            if options.minutes is not None:
                left = started + options.minutes * 60 - time.monotonic()
                until = time.monotonic() + left / (len(targets) - number)
            report = measure(vocabulary, engines, texts, scenarios, threads, rounds, until=until, progress=progress)
        for job in jobs:
            if (job == "training") == (vocabulary is TRAINING):
                measure_job(job, vocabulary, specs, report, engines, max(threads), rounds, limit, progress)
        bench.reports.append(report)
        versions = {name: each.version for one in bench.reports for name, each in one.standings.items()}
        bench.machine = machine_lines(texts, {name: said for name, said in versions.items() if said}) + origins
        minutes = (time.monotonic() - started) / 60
        bench.settings = f"{plural(rounds, 'round')} at most; {', '.join([*scenarios, *jobs])}; {minutes:.1f} minutes"
        if options.json:  # an interrupted run keeps its results
            text = json.dumps(bench.to_json(), ensure_ascii=False, indent=1)
            Path(options.json).write_text(f"{text}\n", encoding="utf-8")
    return bench


def _local_sources(
    kinds: Sequence[str], size: int, vocabularies: Sequence[Vocabulary], directory: str
) -> tuple[dict[str, Read], list[str]]:
    """Write texts of this machine without special tokens. Return them by kind, and lines on their origins."""
    specials = {token for vocabulary in vocabularies for token in vocabulary.specials() if len(token.strip()) > 1}
    sources: dict[str, Read] = {}
    lines = []
    for kind in kinds:
        path = Path(directory, f"{kind}.txt")
        lines.append(f"- {kind}: {write_text(kind, size, path, specials)}; a smaller text is the beginning of it")
        sources[kind] = partial(read_text, path)
    return sources, lines


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.bench",
        description="Speed and memory beside any set of engines, on the same texts, after a comparison of ids.",
    )
    add = parser.add_argument
    of_jobs = (engine for job in JOBS.values() for engine in job.engines)
    engines = tuple(dict.fromkeys((*PEERS, *OTHERS, *OF_LITE, *of_jobs)))
    of_vocabularies = f"default: {' '.join(NINE)}; the profile lite without $CRAYON_SHARED"
    add("vocabularies", nargs="*", metavar="VOCABULARY",
        help=f"a name, a profile or a path, or {LITE}, CRAYON's own cartridge; {of_vocabularies}")  # fmt: skip
    add("--text", action="append", metavar="LIST",
        help="names (english,code,multi; with --scale also words) or files; may be repeated; default: all three, "
        "without $CRAYON_SHARED the sources of Python's library")  # fmt: skip
    add("--scenario", type=_list_of("scenario", (*SCENARIOS, *JOBS)), metavar="LIST",  # prose: long sentence
        help=f"separated by commas: {', '.join(SCENARIOS)} (default: all; with --quick without first-large, "
        f"lines, memory); or jobs: {', '.join(JOBS)}")  # fmt: skip
    add("--scale", type=_sizes, metavar="MB,MB",
        help="instead: passes over local texts of these sizes, in calls of 16 MB, and the memory")  # fmt: skip
    add("--engines", type=_list_of("engine", engines), metavar="LIST",
        help=f"separated by commas: {', '.join(engines)} (default: {', '.join(PEERS)}; for {LITE}: "
        f"{', '.join(OF_LITE)}); prerelease is tokenizers 1.0")  # fmt: skip
    of_install = "make an environment in the cache for each peer but tokenizers and tiktoken, and add prerelease"
    add("--install", action="store_true", help=of_install)
    add("--python", type=_pair, action="append", default=[], metavar="ENGINE=FILE",
        help="the interpreter of an environment that has this engine; may be repeated")  # fmt: skip
    add("--peer", type=_pair, action="append", default=[], metavar="NAME=MODULE:FUNCTION",
        help="an engine: FUNCTION(path of a tokenizer.json) returns a function from texts to lists of ids")  # fmt: skip
    add("--threads", type=thread_counts, metavar="LIST",
        help="numbers of threads (default: 1,all; with --quick and --scale 1)")  # fmt: skip
    add("--rounds", type=int, metavar="N", help="time N times (default: 3; with --quick 1)")
    of_minutes = "begin no further round that would exceed N minutes in all"
    add("--minutes", type=float, metavar="N", help=of_minutes)
    add("--megabytes", type=float, metavar="MB", help="the most to read of each text; the amount for jobs")
    add("--quick", action="store_true", help="little text and one round: rough figures in minutes")
    add("--json", metavar="FILE", help="write every round as JSON")
    add("--markdown", metavar="FILE", help="write the tables between the marks of this file")
    add("--from", dest="kept", metavar="FILE", help="print the tables of figures that --json has kept")
    return parser


def thread_counts(text: str) -> list[int]:
    """Parse numbers such as ``1,2``. ``all`` is the number of cores that this process may use."""
    words = [str(len(all_cores())) if word == "all" else word for word in text.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of threads such as 1,2 or 1,all")
    return sorted({int(word) for word in words})


def _sizes(text: str) -> list[int]:
    return sorted(int(float(word) * 1e6) for word in text.split(","))


def _list_of(what: str, known: Sequence[str]) -> Callable[[str], list[str]]:
    def parsed(text: str) -> list[str]:
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"no {what} {word!r}; expected one of: {', '.join(known)}")
        return text.split(",")

    return parsed


def _pair(text: str) -> tuple[str, str]:
    name, is_pair, value = text.partition("=")
    if not is_pair:
        raise argparse.ArgumentTypeError(f"{text!r} has no =")
    return name, value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when measured, 1 when our ids differ or nothing could be measured, 2 for misuse."""
    parser = make_parser()
    options = parser.parse_args(argv)
    shown = Progress()
    try:
        if options.kept:
            bench = Bench.from_json(json.loads(Path(options.kept).read_text(encoding="utf-8")))
        else:
            with TemporaryDirectory(prefix="crayon-bench-") as directory:
                bench = _measured(options, directory, shown)
        shown.end()
        if options.markdown:
            put_between_marks(options.markdown, "bench", to_markdown(bench))
        else:
            print(to_markdown(bench), end="")
    except (BenchError, ValueError, OSError) as error:
        shown.end()
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1 if isinstance(error, BenchError) else 2
    return 0 if all(report.same_ids for report in bench.reports) else 1


if __name__ == "__main__":
    sys.exit(main())

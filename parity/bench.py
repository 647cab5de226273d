"""``python -m crayon_hf.parity.bench``: MB/s of UTF-8 beside the references, on the same texts in the same run.

Every figure comes from a process of its own, so that caches are cold in the first pass; ids are compared before
anything is timed; rounds are interleaved, so that a slow minute of the machine hits all engines alike.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .children import child_command
from .engines import CALLS, ENGINES, NotComparable, bind, bind_short, digest, open_engine
from .references import UnknownVocabularyError, Vocabulary, find
from .texts import CORPUS, DOCUMENT_BYTES, documents, find_text, read_text

__all__ = ["CORPUS", "BenchError", "Report", "find", "machine_lines", "main", "run_bench"]

OURS = ("crayon", "encode_ragged")
REPEATS = 2
SHORT_TEXT = "Hello, world! It's the 3rd of May, isn't it?"


@dataclass(frozen=True)
class Task:
    """What one process measures."""

    action: str
    """``ids``, ``passes``, ``open`` or ``short``."""
    engine: str
    vocabulary: dict[str, Any]
    call: str = ""
    text: str = ""
    limit: int | None = None
    threads: int = 1
    ours: str = ""


@dataclass
class Speed:
    """One contestant on one text with one number of threads: MB/s of every round."""

    engine: str
    call: str
    result: str
    text: str
    threads: int
    first: list[float] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    resident_mb: float = 0.0


@dataclass
class Report:
    """All figures of one vocabulary."""

    vocabulary: str
    reference: str
    speeds: list[Speed] = field(default_factory=list)
    opening_ms: dict[str, dict[str, float]] = field(default_factory=dict)
    short_us: dict[str, float] = field(default_factory=dict)
    texts: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    same_ids: bool = True
    """False when ours differs from the reference: then nothing is timed."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, every round."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Medians as tables, with the ratio of our ``encode_ragged`` to each line."""
        lines = [f"### {self.vocabulary}", ""]
        if self.speeds:
            lines += [
                "| text | threads | engine | call | gives | first pass, MB/s | again, MB/s | ours/it, first | again |",
                "|---|---|---|---|---|---|---|---|---|",
            ]
        ours = {(speed.text, speed.threads): speed for speed in self.speeds if (speed.engine, speed.call) == OURS}
        for speed in self.speeds:
            base = ours.get((speed.text, speed.threads))
            ratios = ["", ""]
            if base is not None and base is not speed:
                ratios = [_ratio(base.first, speed.first), _ratio(base.repeated, speed.repeated)]
            figures = [_rate(speed.first), _rate(speed.repeated), *ratios]
            cells = [speed.text, str(speed.threads), speed.engine, f"`{speed.call}`", speed.result, *figures]
            lines.append(f"| {' | '.join(cells)} |")
        if self.opening_ms or self.short_us:
            lines += ["", "| engine | open, first in a process | open, median | one short text |", "|---|---|---|---|"]
        for engine in [name for name in ENGINES if name in self.opening_ms or name in self.short_us]:
            opening = self.opening_ms.get(engine, {})
            cells = [f"{_rounded(opening[key])} ms" if key in opening else "" for key in ("first", "median")]
            cells.append(f"{_rounded(self.short_us[engine])} \u00b5s" if engine in self.short_us else "")
            lines.append(f"| {engine} | {' | '.join(cells)} |")
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"


def _rounded(value: float) -> str:
    """Three digits or so."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _rate(values: Sequence[float]) -> str:
    return _rounded(statistics.median(values))


def _ratio(ours: Sequence[float], others: Sequence[float]) -> str:
    return f"{statistics.median(ours) / statistics.median(others):.1f}"


# -- in the process that measures


def _open(task: Task) -> Any:
    return open_engine(task.engine, Vocabulary(**{**task.vocabulary, "path": Path(task.vocabulary["path"])}), task.ours)


def _documents(task: Task) -> tuple[list[str], int]:
    data = read_text(find_text(task.text), task.limit)
    return list(documents(data, DOCUMENT_BYTES)), len(data)


def measure(task: Task) -> dict[str, Any]:
    """Do one task in this process."""
    if task.action == "open":
        return _measure_opening(task)
    try:
        opened = _open(task)
    except NotComparable as error:
        return {"not_comparable": str(error)}
    if task.action == "short":
        call_short = bind_short(task.engine, opened)
        samples: list[int] = []
        for _ in range(3000):
            started = time.perf_counter_ns()
            call_short(SHORT_TEXT)
            samples.append(time.perf_counter_ns() - started)
        return {"us": statistics.median(samples[500:]) / 1000}
    docs, size = _documents(task)
    call = bind(task.engine, task.call, opened, task.threads)
    if task.action == "ids":
        hashed, tokens = digest(task.call, call(docs))
        return {"digest": hashed, "tokens": tokens, "bytes": size, "documents": len(docs)}
    call([""])  # what a process does once, such as importing NumPy and starting threads, is not timed
    seconds: list[float] = []
    for _ in range(1 + REPEATS):
        gc.collect()
        begun = time.perf_counter()
        result = call(docs)
        seconds.append(time.perf_counter() - begun)
        del result
    rates = [size / 1e6 / each for each in seconds]
    return {"first": rates[0], "repeated": rates[1:], "resident_mb": _resident_mb()}


def _measure_opening(task: Task) -> dict[str, Any]:
    if task.engine == "crayon":
        import crayon_hf  # noqa: F401  (the import is not part of opening)
    else:
        __import__(task.engine)
    times: list[float] = []
    started_all = time.perf_counter()
    while len(times) < 100 and (len(times) < 3 or time.perf_counter() - started_all < 1):
        started = time.perf_counter()
        opened = _open(task)
        times.append((time.perf_counter() - started) * 1000)
        del opened
    return {"first": times[0], "median": statistics.median(times[1:])}


def _resident_mb() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


# -- in the process that asks


class BenchError(RuntimeError):
    """A measuring process that failed; the message has its last words."""


def run_task(task: Task) -> dict[str, Any]:
    """Do one task in a fresh process."""
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(task.threads),
        "TOKENIZERS_PARALLELISM": "true" if task.threads > 1 else "false",
    }
    done = subprocess.run(
        child_command("bench", "--measure"),
        input=json.dumps(asdict(task), default=str),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{task.engine} {task.call} on {task.text or 'no text'}: exit code {done.returncode}: {last}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run_bench(
    tokenizer: str | os.PathLike[str] | Vocabulary,
    engines: Sequence[str] = ENGINES,
    texts: Sequence[str | os.PathLike[str]] = CORPUS,
    threads: Sequence[int] = (1, 2),
    rounds: int = 3,
    *,
    limit: int | None = None,
    ours: str = "",
) -> Report:
    """Measure one vocabulary.

    ``tokenizer`` is a name or path that ``references.find`` knows, or its Vocabulary; ``texts`` are names of the shared
    corpus or paths; ``limit`` is a number of bytes of each text. ``ours`` (``module:function``) stands in for
    crayon_hf.Tokenizer.
    """
    for engine in engines:
        if engine not in ENGINES:
            raise ValueError(f"no engine {engine!r}; there are: {', '.join(ENGINES)}")
    vocabulary = tokenizer if isinstance(tokenizer, Vocabulary) else find(os.fspath(tokenizer))
    report = Report(vocabulary.name, vocabulary.reference_version)
    plain = asdict(vocabulary)
    specs = [os.fspath(text) for text in texts]

    def task(action: str, engine: str, call: str = "", text: str = "", threads: int = 1) -> dict[str, Any]:
        return run_task(Task(action, engine, plain, call, text, limit, threads, ours))

    asked = [pair for pair in CALLS if pair[0] in engines]
    contestants = {spec: _same_ids(vocabulary, spec, asked, task, report) for spec in specs}
    if not report.same_ids:
        return report
    speeds = {
        (spec, count, *pair): Speed(*pair, CALLS[pair], _text_name(spec), count)
        for spec in specs
        for count in threads
        for pair in contestants[spec]
    }
    for _ in range(rounds):
        for (spec, count, engine, call), speed in speeds.items():
            measured = task("passes", engine, call, spec, count)
            speed.first.append(measured["first"])
            speed.repeated += measured["repeated"]
            speed.resident_mb = max(speed.resident_mb, measured["resident_mb"])
    report.speeds = list(speeds.values()) if rounds else []
    for engine in dict.fromkeys(engine for kept in contestants.values() for engine, _ in kept):
        report.opening_ms[engine] = task("open", engine)
        report.short_us[engine] = task("short", engine)["us"]
    return report


def _text_name(spec: str) -> str:
    return spec if spec in CORPUS else find_text(spec).name


def _same_ids(
    vocabulary: Vocabulary, spec: str, contestants: list[tuple[str, str]], task: Any, report: Report
) -> list[tuple[str, str]]:
    """The contestants that give the ids of the reference on this text; the others are noted."""
    name = _text_name(spec)
    judge = next(pair for pair in CALLS if pair[0] == vocabulary.kind)
    expected = task("ids", *judge, spec)
    if "not_comparable" in expected:
        raise BenchError(f"no ids to compare with: {expected['not_comparable']}")
    report.texts[name] = {key: expected[key] for key in ("bytes", "documents", "tokens")}
    kept = []
    for engine, call in contestants:
        found = expected if (engine, call) == judge else task("ids", engine, call, spec)
        if found.get("digest") == expected["digest"]:
            kept.append((engine, call))
        elif "not_comparable" in found:
            note = f"{engine}: not measured: {found['not_comparable']}"
            report.notes += [note] if note not in report.notes else []
        else:
            report.notes.append(f"{engine} `{call}`: not measured: other ids than {report.reference} on {name}")
            report.same_ids = report.same_ids and engine != "crayon"
    return kept


def machine_lines(texts: dict[str, dict[str, int]]) -> list[str]:
    """What the figures depend on."""
    packages = []
    for package in ("crayon-hf", "tokenizers", "tiktoken", "transformers"):
        try:
            packages.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            packages.append(f"{package} not installed")
    sizes = [f"{name} {entry['bytes'] / 1e6:.1f} MB in {entry['documents']} documents" for name, entry in texts.items()]
    return [
        f"- Machine: {cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"- Python {platform.python_version()}, {', '.join(packages)}",
        f"- Texts: {'; '.join(sizes)}" if sizes else "- Texts: none",
        "- MB are 1,000,000 bytes of UTF-8; each figure is a median; special tokens are not added;",
        "  the first pass is in a fresh process, over text that it has not seen, after one empty document",
    ]


def cpu_model() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m crayon_hf.parity.bench", description=__doc__)
    parser.add_argument("vocabularies", nargs="+", metavar="VOCABULARY", help="a name that parity.run knows, or a path")
    parser.add_argument(
        "--text", action="append", metavar="LIST", help="names (english,code,multi) or files; may be repeated"
    )
    parser.add_argument("--threads", default="1,2", metavar="LIST", help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default %(default)s")
    parser.add_argument("--engines", default=",".join(ENGINES), metavar="LIST", help="default %(default)s")
    parser.add_argument("--megabytes", type=float, metavar="MB", help="at most so much of each text")
    parser.add_argument("--json", action="store_true", help="print every round as JSON instead of a table")
    parser.add_argument("--ours", default="", metavar="MODULE:FUNCTION", help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 0 when measured, 1 when ours gave other ids or a process failed, 2 when it could not start."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given == ["--measure"]:
        print(json.dumps(measure(Task(**json.loads(sys.stdin.read())))))
        return 0
    parser = make_parser()
    arguments = parser.parse_args(given)
    specs = [
        spec
        for text in arguments.text or [",".join(CORPUS)]
        for spec in ([text] if Path(text).is_file() else text.split(","))
    ]
    try:
        vocabularies = [find(name) for name in arguments.vocabularies]
        for spec in specs:
            find_text(spec)
    except UnknownVocabularyError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    limit = int(arguments.megabytes * 1e6) if arguments.megabytes is not None else None
    threads = [int(count) for count in arguments.threads.split(",")]
    try:
        reports = [
            run_bench(
                vocabulary,
                arguments.engines.split(","),
                specs,
                threads,
                arguments.rounds,
                limit=limit,
                ours=arguments.ours,
            )
            for vocabulary in vocabularies
        ]
    except (BenchError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    lines = machine_lines(reports[0].texts)
    if arguments.json:
        print(json.dumps({"machine": lines, "reports": [report.to_json() for report in reports]}, indent=1))
    else:
        print("\n".join(lines) + "\n")
        print("\n".join(report.to_markdown() for report in reports))
    return 0 if all(report.same_ids for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())

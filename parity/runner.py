"""``python -m parity.runner``: ours against the reference, by vocabulary, suite and instruction set."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crayon_hf.parity.compare.records import DEFAULT, Mode
from crayon_hf.parity.compare.references import NAMES, Vocabulary, find
from crayon_hf.parity.compare.suites import WINDOWS, WINDOWS_OF_PAIRS, Event, Suite, Work
from crayon_hf.parity.compare.workers import Ending, events_of
from crayon_hf.parity.inputs.texts import CORPUS, UnknownVocabularyError, find_text

AGREED, DIFFERED, MISUSED = 0, 1, 2
VARIANTS = ("pairs", "no_special", "as_text", "words", "windows")


@dataclass
class Row:
    """One line of the report: a suite of a vocabulary on one instruction set, or why there is none."""

    vocabulary: str
    cpu: str
    suite: str = ""
    engine: str = ""
    values: Event = field(default_factory=dict)
    failure: str = ""

    @property
    def inputs(self) -> int:
        """How many inputs were compared."""
        return sum(self.values.get("inputs", {}).values())

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return sum(self.values.get("differing", {}).values())

    @property
    def agreed(self) -> bool:
        """Whether there was something to compare, and no difference."""
        return not self.failure and self.inputs > 0 and self.differing == 0

    def lines(self) -> list[str]:
        """The line, and below it the smallest differing inputs."""
        head = f"{self.vocabulary:14} {self.suite:40} {self.cpu:8}"
        if self.failure:
            return [f"{head} FAILED: {self.failure}"]
        verdict = "no difference" if not self.differing else f"{self.differing} DIFFER"
        size = f"{self.values['characters'] / 1e6:.1f} M characters"
        lines = [f"{head} {self.inputs:7} inputs {size:>18} {self.values['seconds']:8.1f} s  {verdict}"]
        if self.differing:
            by_category = sorted(self.values["differing"].items(), key=lambda entry: -entry[1])
            lines.append("  by category: " + ", ".join(f"{name} {count}" for name, count in by_category))
            lines += [f"  {line}" for line in self.values["report"]]
        return lines

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        values = {key: value for key, value in self.values.items() if key not in ("event", "suite", "report")}
        return {
            "vocabulary": self.vocabulary,
            "suite": self.suite,
            "cpu": self.cpu,
            "engine": self.engine,
            "agreed": self.agreed,
            **({"failure": self.failure} if self.failure else values),
        }


def run_worker(work: Work, rows: list[Row], lock: threading.Lock) -> None:
    """Run one worker to its end; add and print a row for each suite, and one for a crash."""
    cpu, engine, place, ended = work.cpu or "best", "", "at the start", False
    name = work.vocabulary.name

    def add(row: Row) -> None:
        with lock:
            rows.append(row)
            print("\n".join(row.lines()), flush=True)

    ending = Ending()
    for event in events_of(work, ending):
        if event["event"] == "opened":
            cpu, engine, place = event["cpu"] or cpu, event["engine"], "after opening"
        elif event["event"] == "at":
            place = f"in {event['suite']}, in the batch that begins with input {event['first']}"
        elif event["event"] == "refused":
            add(Row(name, cpu, "", engine, failure=event["reason"]))
            ended = True
        elif event["event"] == "skipped":
            add(Row(name, cpu, event["suite"], engine, failure=event["reason"]))
        else:
            add(Row(name, cpu, event["suite"], engine, values=event))
    if ending.code != 0:
        add(Row(name, cpu, "", engine, failure=f"the worker ended with code {ending.code} {place}: {ending.last}"))
    elif not ended and sum(row.vocabulary == name and row.cpu == cpu for row in rows) < len(work.suites):
        add(Row(name, cpu, "", engine, failure=f"the worker ended early, {place}"))


def make_suites(arguments: argparse.Namespace, kind: str) -> tuple[Suite, ...]:
    """The suites that were asked for; the variants apply to ``tokenizers`` vocabularies only."""
    plain = []
    if arguments.strings:
        plain.append(Suite("strings", strings=arguments.strings, seed=arguments.seed))
    if arguments.tokens:
        plain.append(Suite("tokens", strings=arguments.tokens, seed=arguments.seed))
    limit = int(arguments.megabytes * 1e6) if arguments.megabytes is not None else None
    names = [*(CORPUS if arguments.texts else ()), *arguments.text]
    plain += [Suite(name, limit=limit) for name in names]
    suites = list(plain)
    if arguments.bytes:
        suites.append(Suite("bytes", strings=arguments.bytes, seed=arguments.seed))
    if kind == "tokenizers":
        for suite in plain:
            if arguments.pairs:
                suites.append(replace(suite, paired=True))
            if arguments.no_special:
                suites.append(replace(suite, mode=Mode(add_special_tokens=False)))
            if arguments.as_text:
                suites.append(replace(suite, mode=Mode(special_as_text=True)))
            if arguments.words:
                suites.append(replace(suite, mode=Mode(words=True)))
            if arguments.pairs and arguments.no_special:
                suites.append(replace(suite, paired=True, mode=replace(DEFAULT, add_special_tokens=False)))
            if arguments.windows:
                suites += shared_out(suite, WINDOWS)
            if arguments.windows and arguments.pairs:
                suites += shared_out(replace(suite, paired=True), WINDOWS_OF_PAIRS)
    return tuple(suites)


def shared_out(suite: Suite, modes: Sequence[Mode]) -> list[Suite]:
    """The suite in several modes, each on its share of the inputs."""
    return [replace(suite, mode=mode, every=len(modes), first=i) for i, mode in enumerate(modes)]


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.runner",
        description="Compare crayon_hf with the reference of each vocabulary, every field of every result. "
        "Exit code 0 means that everything agreed, 1 that something did not, 2 that the command could not start.",
    )
    parser.add_argument("names", nargs="*", metavar="VOCABULARY", help=f"{', '.join(NAMES)}, or a path (default: all)")
    parser.add_argument(
        "--strings", type=int, default=100_000, metavar="N", help="generated strings (default %(default)s)"
    )
    parser.add_argument(
        "--tokens",
        type=int,
        default=20_000,
        metavar="N",
        help="strings of the vocabulary's own tokens (default %(default)s)",
    )
    parser.add_argument("--bytes", type=int, default=0, metavar="N", help="also round trips of generated byte strings")
    parser.add_argument("--seed", type=int, default=1, help="of the generated strings (default %(default)s)")
    parser.add_argument(
        "--texts", action="store_true", help="also the three texts of $CRAYON_SHARED/corpus, in 2 KB documents"
    )
    parser.add_argument("--text", action="append", default=[], metavar="FILE", help="also this text; may be repeated")
    parser.add_argument("--megabytes", type=float, metavar="MB", help="at most so much of each text")
    parser.add_argument("--pairs", action="store_true", help="also encode pairs of inputs")
    parser.add_argument("--no-special", action="store_true", help="also with add_special_tokens=False")
    parser.add_argument("--as-text", action="store_true", help="also with encode_special_tokens=True")
    parser.add_argument("--words", action="store_true", help="also as pretokenized input, split at spaces")
    parser.add_argument(
        "--windows",
        action="store_true",
        help="also truncated and padded in several ways, each on a share of them",
    )
    parser.add_argument("--everything", action="store_true", help="all of the variants above")
    parser.add_argument(
        "--cpu", default="", metavar="LIST", help="instruction sets, each in a process of its own: avx2,avx512, or all"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="vocabularies at one time (default %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the whole report there")
    parser.add_argument(
        "--reference-cache", metavar="DIR", help="keep digests of the reference's results here, and use them"
    )
    parser.add_argument(
        "--reports",
        type=int,
        default=5,
        metavar="N",
        help="differing inputs to minimise per suite (default %(default)s)",
    )
    parser.add_argument("--pattern", help="of a rank file that tiktoken does not publish")
    parser.add_argument(
        "--ours",
        default="",
        metavar="MODULE:FUNCTION",
        help="compare what this makes of a Vocabulary, not crayon_hf.Tokenizer",
    )
    parser.add_argument(
        "--allow-delegated", action="store_true", help="also when ours only hands the work to the reference"
    )
    return parser


def choose_cpus(text: str) -> list[str]:
    """The instruction sets of ``--cpu``; empty text is the best one, unnamed."""
    if text != "all":
        return [name.strip() for name in text.split(",")]
    from crayon_hf import _core

    return list(_core.cpu_levels())


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.everything:
        for variant in VARIANTS:
            setattr(arguments, variant, True)
    try:
        vocabularies: list[Vocabulary] = [find(name, pattern=arguments.pattern) for name in arguments.names or NAMES]
        for name in [*(CORPUS if arguments.texts else ()), *arguments.text]:
            find_text(name)
    except UnknownVocabularyError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return MISUSED
    if not make_suites(arguments, "tokenizers"):
        print(f"{parser.prog}: nothing to compare: no strings and no texts", file=sys.stderr)
        return MISUSED
    cpus = choose_cpus(arguments.cpu)
    jobs = max(1, arguments.jobs)
    rows: list[Row] = []
    lock = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="crayon-parity-") as temporary:
        # Several instruction sets share one run of the reference.
        kept = arguments.reference_cache or (temporary if len(cpus) > 1 else "")

        def run_vocabulary(vocabulary: Vocabulary) -> None:
            for cpu in cpus:
                work = Work(
                    vocabulary,
                    make_suites(arguments, vocabulary.kind),
                    cpu,
                    kept,
                    arguments.ours,
                    arguments.reports,
                    max(1, (os.cpu_count() or 1) // jobs),
                    arguments.allow_delegated,
                )
                run_worker(work, rows, lock)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(run_vocabulary, vocabularies))
    agreed = bool(rows) and all(row.agreed for row in rows)
    failed = sum(not row.agreed for row in rows)
    print(
        f"{len(rows)} suites, {sum(row.inputs for row in rows)} inputs: "
        + ("all agree" if agreed else f"{failed} suites do not agree")
    )
    if arguments.json:
        document = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "references": sorted({vocabulary.reference_version for vocabulary in vocabularies}),
            "seed": arguments.seed,
            "agreed": agreed,
            "rows": [row.to_json() for row in rows],
        }
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return AGREED if agreed else DIFFERED


if __name__ == "__main__":
    sys.exit(main())

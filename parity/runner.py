"""The run of a suite: each vocabulary on each instruction set, in worker processes; a table, and a verdict."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crayon_hf.cli.arguments import DEFAULT
from crayon_hf.errors import CrayonError
from crayon_hf.parity.compare.children import Ending
from crayon_hf.parity.compare.lines import suite_line
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.compare.suites import Event, Suite, Work
from crayon_hf.parity.compare.workers import events_of
from crayon_hf.parity.inputs.texts import UnknownVocabularyError, shared_directory

from .options import cpu_names, make_suites

AGREED, DIFFERED, MISUSED = 0, 1, 2

Find = Callable[[str, str], Vocabulary]
"""The vocabulary of a name on the command line. What has to be made for it goes into the directory."""


@dataclass
class Row:
    """One line of a table: a suite of a target on one instruction set, or beside one library; or why there is none."""

    target: str
    what: str
    """The instruction set, or the library and its version."""
    suite: str = ""
    engine: str = ""
    values: Event = field(default_factory=dict)
    failure: str = ""
    skipped: str = ""
    """Why nothing was compared, where that is no failure."""

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

    def lines(self, width: int) -> list[str]:
        """The line, with `width` columns for the suite, and below it the smallest differing inputs."""
        name = f"{self.target:14} {self.suite:{width}} {self.what:8}"
        if self.skipped:
            return [f"{name} not compared: {self.skipped}"]
        characters, seconds = self.values.get("characters", 0), self.values.get("seconds", 0.0)
        lines = [suite_line(name, self.inputs, self.differing, characters, seconds, self.failure)]
        if self.differing:
            by_category = sorted(self.values["differing"].items(), key=lambda entry: -entry[1])
            lines.append("  by category: " + ", ".join(f"{name} {count}" for name, count in by_category))
            lines += [f"  {line}" for line in self.values["report"]]
        return lines

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        values = {key: value for key, value in self.values.items() if key not in ("event", "suite", "report")}
        return {
            "vocabulary": self.target,
            "suite": self.suite,
            "cpu": self.what,
            "engine": self.engine,
            "agreed": self.agreed,
            **({"failure": self.failure} if self.failure else values),
        }


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None, published: Sequence[str], find: Find) -> int:
    """The command of a suite; its exit status.

    `parser` is what `options.make_parser` made. Without names on the command line the vocabularies are `published`,
    names below ``$CRAYON_SHARED/vocab``, or the profile ``lite`` where that is not set. `find` opens a name.
    """
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="crayon-parity-") as directory:
        try:
            suites = make_suites(arguments)
            names = arguments.names or (published if shared_directory() else [DEFAULT])
            vocabularies = [find(name, tempfile.mkdtemp(dir=directory)) for name in names]
        except (CrayonError, UnknownVocabularyError) as error:
            print(f"{parser.prog}: {error}", file=sys.stderr)
            return MISUSED
        if not suites:
            print(f"{parser.prog}: nothing to compare: no strings and no texts", file=sys.stderr)
            return MISUSED
        rows = _run_all(arguments, vocabularies, suites, directory)
    agreed = bool(rows) and all(row.agreed for row in rows)
    reference = f"{arguments.reference} {version(arguments.reference)}"
    print(_verdict(rows, reference))
    if arguments.json:
        document = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "references": [reference],
            "seed": arguments.seed,
            "agreed": agreed,
            "rows": [row.to_json() for row in rows],
        }
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return AGREED if agreed else DIFFERED


def _verdict(rows: Sequence[Row], reference: str) -> str:
    suites, inputs = f"{len(rows)} suites", f"{sum(row.inputs for row in rows):,} inputs"
    failed = sum(not row.agreed for row in rows)
    if failed or not rows:
        return f"{failed} of {suites} do not agree with {reference}: {inputs}"
    return f"all agree with {reference}: {suites}, {inputs}"


def _run_all(
    arguments: argparse.Namespace, vocabularies: Sequence[Vocabulary], suites: tuple[Suite, ...], directory: str
) -> list[Row]:
    """A worker for each vocabulary and instruction set; `arguments.jobs` vocabularies at a time."""
    cpus, jobs = cpu_names(arguments.cpu), max(1, arguments.jobs)
    # Several instruction sets share one run of the reference.
    kept = arguments.reference_cache or (os.path.join(directory, "digests") if len(cpus) > 1 else "")
    rows: list[Row] = []
    lock = threading.Lock()

    def run_vocabulary(vocabulary: Vocabulary) -> None:
        for cpu in cpus:
            work = Work(
                vocabulary,
                suites,
                cpu,
                kept,
                arguments.ours,
                arguments.reports,
                max(1, (os.cpu_count() or 1) // jobs),
                arguments.allow_delegated,
            )
            _run_worker(work, rows, lock)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run_vocabulary, vocabularies))
    return rows


def _run_worker(work: Work, rows: list[Row], lock: threading.Lock) -> None:
    """Run one worker to its end; add and print a row for each suite, and one for a crash."""
    cpu, engine, place, ended = work.cpu or "best", "", "at the start", False
    name, width = work.vocabulary.name, max(len(suite.name) for suite in work.suites)

    def add(row: Row) -> None:
        with lock:
            rows.append(row)
            print("\n".join(row.lines(width)), flush=True)

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
    elif not ended and sum(row.target == name and row.what == cpu for row in rows) < len(work.suites):
        add(Row(name, cpu, "", engine, failure=f"the worker ended early, {place}"))

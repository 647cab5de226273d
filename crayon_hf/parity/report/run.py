"""The run that makes a `Report`: suites in worker processes, then measurements of speed."""

from __future__ import annotations

import os
import platform
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf._core import __version__
from crayon_hf.util.progress import time_left

from ..compare.children import Ending
from ..compare.suites import Event, Work
from ..compare.targets import Subject, TargetError, find_target
from ..compare.workers import culprit, events_of
from ..speed.machine import cpu_model
from ..speed.processes import all_cores
from .model import Category, DifferenceShown, FieldValues, Library, Report, Speed, SuiteResult, Target
from .plan import Group, make_groups
from .speed import measure_speed

STRINGS = 10_000
ROUNDS = 3

Progress = Callable[[str], None]


def make_report(
    target: str | Subject,
    against: str = "",
    *,
    strings: int = STRINGS,
    tokens: int | None = None,
    seed: int = 1,
    texts: Sequence[str | os.PathLike[str]] | None = None,
    megabytes: float | None = None,
    is_everything: bool = False,
    speed: bool = True,
    rounds: int = ROUNDS,
    cpu: str = "",
    ours: str = "",
    cartridge: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Progress = lambda _: None,
) -> Report:
    """Compare our tokenizer with a reference on one target, and time both.

    A difference, or a side that crashes, is part of the report and raises no error. docs/parity.md has examples.

    Args:
        target: The name or path of a target, as for `compare.targets.find_target`, or a subject returned by it.
        against: The reference library. By default, the library that the target's format implies.
        strings: How many hostile strings are generated.
        tokens: How many strings of the vocabulary's tokens are generated; by default a fifth of `strings`.
        seed: The seed of generated inputs.
        texts: Files and directories of texts. None means the default texts, and an empty sequence means no texts.
        megabytes: The most megabytes of each text that are read.
        is_everything: Whether all inputs are also compared in the modes besides the default. Otherwise a share is.
        speed: Whether to measure speeds.
        rounds: How many times each speed is measured.
        cpu: The instruction set. Empty for the best one.
        ours: ``module:function`` that opens our side instead of `crayon_hf.Tokenizer`.
        cartridge: The cartridge that our side must encode with, for a certificate.
        command: The command that repeats the run, for the report.
        progress: Called with a line of text as the run advances.

    Raises:
        TargetError: The comparison would mean nothing, or our side does not use `cartridge`. Raised before anything is
            compared.
    """
    tokens = strings // 5 if tokens is None else tokens
    started, clock = datetime.now(timezone.utc), time.monotonic()
    with TemporaryDirectory(prefix="crayon-parity-") as directory:
        subject = target if isinstance(target, Subject) else find_target(target, against, directory)
        vocabulary = subject.vocabulary
        groups = make_groups(vocabulary, strings, tokens, seed, texts, megabytes, directory, is_everything)
        threads = len(all_cores())
        suites = tuple(suite for group in groups for suite in group.suites)
        work = Work(vocabulary, suites, cpu, ours, threads=threads)
        run = _Run(groups, work, progress, None if cartridge is None else os.path.realpath(cartridge))
        run.run()
        speeds: tuple[Speed, ...] = ()
        notes = [*subject.notes, *run.notes]
        if speed:
            if run.agreed:
                speeds, found = measure_speed(vocabulary, groups, rounds, progress)
                notes += found
            else:
                notes.append("speed was not measured, since the results are not the same")
    called = target if isinstance(target, str) else subject.name
    given = {"--strings": strings, "--tokens": tokens, "--seed": seed}
    return Report(
        target=Target(subject.name, subject.kind, *run.opened_facts),
        ours=Library("crayon-hf", __version__, run.details),
        reference=Library(vocabulary.kind, version(vocabulary.kind)),
        compared=vocabulary.compared,
        suites=tuple(run.results()),
        differences=tuple(run.differences),
        speeds=speeds,
        machine=_machine(),
        versions=_versions(subject),
        command=command or _command(called, vocabulary.kind, texts, given, megabytes, speed),
        started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(time.monotonic() - clock, 1),
        notes=tuple(notes),
    )


@dataclass
class _Tally:
    """The results so far of a group of suites."""

    inputs: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    characters: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    is_left_out: bool = False


class _Run:
    """Runs all suites in a worker process. After a crash, a new worker runs the remaining ones."""

    def __init__(self, groups: Sequence[Group], work: Work, progress: Progress, cartridge: str | None) -> None:
        self.groups = groups
        self.work = work
        self.progress = progress
        self.begun = time.monotonic()
        self.cartridge = cartridge
        self.tallies = [_Tally() for _ in groups]
        self.owners = [i for i, group in enumerate(groups) for _ in group.suites]
        self.opened: Event = {}
        self.differences: list[DifferenceShown] = []

    @property
    def agreed(self) -> bool:
        return all(not tally.failures and not tally.differing for tally in self.tallies)

    @property
    def opened_facts(self) -> tuple[str, int]:
        """The digest of the source and the number of tokens, or ("", 0) if the source could not be opened."""
        return self.opened.get("source_digest") or "", self.opened.get("vocab_size", 0)

    @property
    def details(self) -> str:
        """Our engine and instruction set."""
        return ", ".join(filter(None, (self.opened.get("engine", ""), self.opened.get("cpu", ""))))

    @property
    def notes(self) -> list[str]:
        """Return a note on why the cartridge beside the tokenizer's files was not compared, or no notes."""
        return [self._why_not_the_cartridge()] if self.opened.get("refused") else []

    def run(self) -> None:
        done = 0
        while done < len(self.work.suites):
            done = self._worker(done)

    def _worker(self, begin: int) -> int:
        """Run one worker from suite number `begin` on. Return the number of the suite for the next worker."""
        work = replace(self.work, suites=self.work.suites[begin:])
        ending, done, first = Ending(), begin, -1
        is_open = False
        with closing(events_of(work, ending)) as events:
            for event in events:
                kind = event["event"]
                if kind == "opened":
                    self._take_opened(event)
                    is_open = True
                elif kind == "refused":
                    return self._fail(range(done, len(self.work.suites)), event["reason"])
                elif kind == "at":
                    first = event["first"]
                    name, suites = self.groups[self.owners[done]].name, len(self.owners)
                    left = time_left(self.begun, done, suites)
                    self.progress(f"{name}: {first:,} inputs (part {done + 1} of {suites}{left})")
                else:
                    self._take(done, event)
                    done, first = done + 1, -1
        if done == len(self.work.suites):
            return done
        if not is_open:
            return self._fail(range(done, len(self.work.suites)), f"ours cannot be opened: {ending.last}")
        # The remaining suites of the same group would likely end the process, too.
        group = self.owners[done]
        rest = [number for number in range(done, len(self.owners)) if self.owners[number] == group]
        return self._fail(rest, self._why(done, first, ending))

    def _take_opened(self, event: Event) -> None:
        """Keep the facts of the first worker's event ``opened``, which hold for all workers.

        Raise TargetError if the worker did not open the cartridge that the caller requires.
        """
        self.opened = self.opened or event
        if self.cartridge is None or event["engine"] == "delegated":  # a delegated engine fails anyway
            return
        if not event["cartridge"] or os.path.realpath(event["cartridge"]) != self.cartridge:
            raise TargetError(f"{self.cartridge}: {self._why_not_the_cartridge()}")

    def _why_not_the_cartridge(self) -> str:
        refused, opened = self.opened["refused"], self.opened["cartridge"]
        if refused and self.work.vocabulary.kind == "transformers":
            what = f"transformers makes another tokenizer of these files than the cartridge says ({refused})"
        else:
            what = f"it was not opened ({refused})" if refused else f"ours opened {opened or 'no cartridge'} instead"
        return f"{what}, so this report does not compare the cartridge"

    def _why(self, number: int, first: int, ending: Ending) -> str:
        what = f"the process {ending}"
        if ending.code < 0:
            what = f"the process was ended by signal {-ending.code}"
        if first < 0:
            return what
        self.progress("looking for the input that ended the process")
        found = culprit(self.work, self.work.suites[number], first)
        if found is None:
            return f"{what}, in the batch of inputs that begins with number {first}"
        return f"{what}, in {found[0]}, on the input {found[1][:200]}"

    def _fail(self, numbers: Sequence[int], why: str) -> int:
        for number in numbers:
            failures = self.tallies[self.owners[number]].failures
            if why not in failures:
                failures.append(why)
        return numbers[-1] + 1

    def _take(self, number: int, event: Event) -> None:
        group, tally = self.groups[self.owners[number]], self.tallies[self.owners[number]]
        if event["event"] == "skipped":
            tally.is_left_out = True
            return
        tally.inputs.update(event["inputs"])
        tally.differing.update(event["differing"])
        tally.characters += event["characters"]
        tally.seconds += event["seconds"]
        mode = self.work.suites[number].mode.label
        for each in event["differences"]:
            shown = DifferenceShown(
                suite=f"{group.name} ({mode})" if mode and len(group.suites) > 1 else group.name,
                category=each["category"],
                smallest=tuple(map(_unquoted, each["smallest"])),
                found=tuple(map(_unquoted, each["found"])),
                fields=tuple(FieldValues(**values) for values in each["fields"]),
                alone=each["alone"],
            )
            if all((known.smallest, known.fields) != (shown.smallest, shown.fields) for known in self.differences):
                self.differences.append(shown)

    def results(self) -> list[SuiteResult]:
        """Return the results of all groups, in order, without groups that the tokenizer does not support."""
        return [
            SuiteResult(
                name=group.name,
                kind=group.kind,
                about=group.about,
                inputs=sum(tally.inputs.values()),
                differing=sum(tally.differing.values()),
                characters=tally.characters,
                seconds=round(tally.seconds, 3),
                categories=tuple(Category(name, n, tally.differing[name]) for name, n in tally.inputs.items()),
                seed=group.seed,
                digest=group.digest,
                failure="; ".join(tally.failures),
            )
            for group, tally in zip(self.groups, self.tallies, strict=True)
            if not tally.is_left_out
        ]


def _unquoted(literal: str) -> str:
    """Return a Python literal without its quotes. A clipped literal has no final quote."""
    return literal[1:].removesuffix(literal[:1])


def _machine() -> tuple[str, ...]:
    cores = len(all_cores())
    return (
        f"{cpu_model()}, {cores} core{'s'[: cores != 1]}",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"{platform.python_implementation()} {platform.python_version()}",
    )


def _versions(subject: Subject) -> dict[str, str]:
    kind = subject.vocabulary.kind
    packages = [kind, *(["tokenizers"] if kind == "transformers" else [])]
    return {"crayon-hf": __version__, **{package: version(package) for package in packages}}


def _command(
    target: str,
    against: str,
    texts: Sequence[str | os.PathLike[str]] | None,
    given: dict[str, Any],
    megabytes: float | None,
    speed: bool,
) -> str:
    words = ["crayon-hf", "parity", target, "--against", against]
    words += [part for text in texts or () for part in ("--text", os.fspath(text))]
    words += [str(part) for option in given.items() for part in option]
    words += [] if megabytes is None else ["--megabytes", f"{megabytes:g}"]
    return shlex.join([*words, *([] if speed else ["--no-speed"])])

"""A parity report: the inputs compared, the outcome, the speed of both sides, and the command that repeats it.

`run` makes a `Report`, `html` and `markdown` render it, and the certificate in a cartridge has its digest. Only this
module writes and reads its JSON form; `Report.from_json` refuses unknown content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median

from .reading import UnreadableError, read

SCHEMA = "crayon-hf/parity-report/1"

_SUMMARY = ("agreed", "inputs", "differing")
"""The keys of the summary at the head of the JSON."""


class ReportError(ValueError):
    """A file that is not a report, or one of another version."""


@dataclass(frozen=True)
class Target:
    """The vocabulary that was checked."""

    name: str
    kind: str
    """The format of the source, in words: ``tokenizer.json``, ``rank file``, ``SentencePiece model`` and so on."""
    source_digest: str
    """SHA-256 (hex) of the ``tokenizer.json`` that the cartridge is compiled from."""
    vocab_size: int


@dataclass(frozen=True)
class Library:
    """One of the two compared libraries."""

    name: str
    version: str
    details: str = ""
    """For ours: engine and instruction set, ``native, avx512``."""


@dataclass(frozen=True)
class Category:
    """Inputs of one kind within a suite."""

    name: str
    inputs: int
    differing: int


@dataclass(frozen=True)
class SuiteResult:
    """Inputs of one source, compared in one mode."""

    name: str
    kind: str
    """``generated``, ``text`` (one of crayon-hf's texts) or ``file`` (the user's own)."""
    about: str
    """The inputs, described in one line."""
    inputs: int
    differing: int
    characters: int
    seconds: float
    categories: tuple[Category, ...] = ()
    seed: int | None = None
    """The seed of generated inputs."""
    digest: str | None = None
    """SHA-256 (hex) of the bytes taken from a text."""
    failure: str = ""
    """Why the suite could not be compared. Empty if it was compared."""

    @property
    def agreed(self) -> bool:
        """Whether the suite has inputs, and none of them differs."""
        return not self.failure and self.inputs > 0 and self.differing == 0


@dataclass(frozen=True)
class FieldValues:
    """Both sides' values of one field, as ASCII text, clipped around the first difference."""

    field: str
    ours: str
    reference: str


@dataclass(frozen=True)
class DifferenceShown:
    """One differing input, minimised. Its texts are Python literals in ASCII without quotes."""

    suite: str
    category: str
    smallest: tuple[str, ...]
    """The minimised input: one text, or the two texts of a pair."""
    found: tuple[str, ...]
    fields: tuple[FieldValues, ...]
    alone: bool = True
    """False if the input differs only within its batch."""


@dataclass(frozen=True)
class Speed:
    """One measurement of speed, for which both sides took turns in the same run."""

    scenario: str
    """``first pass``, ``repeated``, ``short``, ``decode``, ``open``."""
    text: str
    """The text that was encoded. Empty if no text was encoded."""
    threads: int
    unit: str
    """``MB/s``, ``µs``, ``ms``."""
    more_is_better: bool
    ours: tuple[float, ...]
    """Every round."""
    reference: tuple[float, ...]
    """Every round. Empty if the reference has no such call."""

    @property
    def ratio(self) -> float | None:
        """The speedup over the reference, from medians. None without a reference."""
        if not self.ours or not self.reference:
            return None
        ours, reference = median(self.ours), median(self.reference)
        above, below = (ours, reference) if self.more_is_better else (reference, ours)
        return above / below if below else None


@dataclass(frozen=True)
class Report:
    """The comparison of one target with one reference.

    docs/parity.md has examples.
    """

    target: Target
    ours: Library
    reference: Library
    compared: tuple[str, ...]
    """The fields of a result that were compared: ``ids``, ``offsets``, ``decoded`` and so on."""
    suites: tuple[SuiteResult, ...]
    differences: tuple[DifferenceShown, ...]
    speeds: tuple[Speed, ...]
    machine: tuple[str, ...]
    """Processor, system, Python: one fact a line."""
    versions: Mapping[str, str]
    """The versions of the packages involved."""
    command: str
    """The command that repeats the run."""
    started: str
    """UTC, ISO 8601 with seconds and ``Z``."""
    seconds: float
    notes: tuple[str, ...] = ()
    """Other facts for the reader, such as why speeds are missing."""
    schema: str = field(default=SCHEMA)

    @property
    def inputs(self) -> int:
        """The number of inputs compared."""
        return sum(suite.inputs for suite in self.suites)

    @property
    def differing(self) -> int:
        """The number of differing inputs."""
        return sum(suite.differing for suite in self.suites)

    @property
    def characters(self) -> int:
        """The number of characters in all inputs."""
        return sum(suite.characters for suite in self.suites)

    @property
    def agreed(self) -> bool:
        """Whether every suite has inputs, and none of them differs."""
        return bool(self.suites) and all(suite.agreed for suite in self.suites)

    def by_category(self) -> tuple[Category, ...]:
        """Return the sums of inputs and differences of each category over all suites, in order of appearance."""
        sums: dict[str, list[int]] = {}
        for suite in self.suites:
            for category in suite.categories:
                entry = sums.setdefault(category.name, [0, 0])
                entry[0] += category.inputs
                entry[1] += category.differing
        return tuple(Category(name, inputs, differing) for name, (inputs, differing) in sums.items())

    def to_json(self) -> str:
        """Return the report as indented JSON with a newline at the end. Lone surrogates are escaped."""
        summary = {name: getattr(self, name) for name in _SUMMARY}
        plain = asdict(self)
        text = json.dumps({"schema": plain.pop("schema"), **summary, **plain}, indent=1, ensure_ascii=False) + "\n"
        return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)

    @staticmethod
    def from_json(text: str | bytes) -> Report:
        """Read the output of `to_json`. Raise ReportError for anything else, and for a contradictory report."""
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ReportError(f"not a parity report: {error}") from error
        if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
            found = plain.get("schema") if isinstance(plain, dict) else None
            raise ReportError(f"not a parity report of schema {SCHEMA} (schema: {found!r:.60}); run `parity` again")
        said = {name: plain.pop(name, None) for name in ("schema", *_SUMMARY)}
        try:
            report: Report = read(Report, plain, "")
        except UnreadableError as error:
            raise ReportError(f"this parity report is damaged: {error}") from error
        report.check()
        for name in _SUMMARY:
            if type(said[name]) is not type(found := getattr(report, name)) or said[name] != found:
                raise ReportError(
                    f"this parity report contradicts itself: {name!r} is {said[name]!r:.40}, by its suites {found!r}"
                )
        return report

    def check(self) -> None:
        """Raise ReportError if the report has wrong sums, or compares nothing."""
        for suite in self.suites:
            sums = [sum(getattr(each, name) for each in suite.categories) for name in ("inputs", "differing")]
            if suite.categories and sums != [suite.inputs, suite.differing]:
                raise ReportError(
                    f"this parity report contradicts itself: {suite.name!r:.40} has {suite.inputs} inputs of which "
                    f"{suite.differing} differ, and its categories {sums[0]} and {sums[1]}"
                )
            parts: tuple[SuiteResult | Category, ...] = (suite, *suite.categories)
            if any(each.differing > each.inputs for each in parts):
                raise ReportError(
                    f"this parity report contradicts itself: more inputs differ in {suite.name!r:.40} than it has"
                )
        if self.differences and not self.differing:
            raise ReportError("this parity report contradicts itself: it shows differences, and counts none")
        if self.inputs and not self.compared:
            raise ReportError("this parity report does not say what was compared")

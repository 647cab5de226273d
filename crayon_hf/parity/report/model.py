"""A parity report: what was compared, with what outcome, how fast both sides are, and how to repeat it.

`Report` is what a run makes, what the pages are drawn from, and what a certificate is a digest of. Its JSON form is
written and read here alone; a reader refuses what it does not know.
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
"""What the JSON says at its head, for who reads no further."""


class ReportError(ValueError):
    """A file that is no report, or one of another version."""


@dataclass(frozen=True)
class Target:
    """What was checked."""

    name: str
    kind: str
    """What the source is, as people call it: ``tokenizer.json``, ``rank file``, ``SentencePiece model`` and so on."""
    source_digest: str
    """SHA-256 (hex) of the ``tokenizer.json`` that the cartridge is compiled from."""
    vocab_size: int


@dataclass(frozen=True)
class Library:
    """One of the two sides."""

    name: str
    version: str
    details: str = ""
    """Of ours: engine and instruction sets, ``native, avx512``."""


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
    """``generated``, ``text`` (of ours) or ``file`` (the user's own)."""
    about: str
    """What the inputs are, in one line."""
    inputs: int
    differing: int
    characters: int
    seconds: float
    categories: tuple[Category, ...] = ()
    seed: int | None = None
    """Of generated inputs."""
    digest: str | None = None
    """SHA-256 (hex) of the bytes that were taken from a text."""
    failure: str = ""
    """Why it could not be compared; empty when it could."""

    @property
    def agreed(self) -> bool:
        """Whether there was something to compare, and no difference."""
        return not self.failure and self.inputs > 0 and self.differing == 0


@dataclass(frozen=True)
class FieldValues:
    """What both sides say of one field, as ASCII text, clipped around the first place where they part."""

    field: str
    ours: str
    reference: str


@dataclass(frozen=True)
class DifferenceShown:
    """One differing input, as small as it could be made; the texts are Python literals in ASCII without quotes."""

    suite: str
    category: str
    smallest: tuple[str, ...]
    """One text, or two of a pair."""
    found: tuple[str, ...]
    fields: tuple[FieldValues, ...]
    alone: bool = True
    """False when it differs only within its batch."""


@dataclass(frozen=True)
class Speed:
    """One measurement, both sides in turn in the same run."""

    scenario: str
    """``first pass``, ``repeated``, ``short``, ``decode``, ``open``."""
    text: str
    """The text it was taken on; empty where there is none."""
    threads: int
    unit: str
    """``MB/s``, ``µs``, ``ms``."""
    more_is_better: bool
    ours: tuple[float, ...]
    """Every round."""
    reference: tuple[float, ...]
    """Every round; empty where the reference has no such call."""

    @property
    def ratio(self) -> float | None:
        """How many times as fast we are, of medians; None without a reference."""
        if not self.ours or not self.reference:
            return None
        ours, reference = median(self.ours), median(self.reference)
        above, below = (ours, reference) if self.more_is_better else (reference, ours)
        return above / below if below else None


@dataclass(frozen=True)
class Report:
    """One target against one reference.

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
    """Processor, system, Python, one fact a line."""
    versions: Mapping[str, str]
    """Of the packages that took part."""
    command: str
    """What repeats it."""
    started: str
    """UTC, ISO 8601 with seconds and ``Z``."""
    seconds: float
    notes: tuple[str, ...] = ()
    """What a reader should know besides, such as why there are no figures of speed."""
    schema: str = field(default=SCHEMA)

    @property
    def inputs(self) -> int:
        """How many inputs were compared."""
        return sum(suite.inputs for suite in self.suites)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return sum(suite.differing for suite in self.suites)

    @property
    def characters(self) -> int:
        """How many characters these have."""
        return sum(suite.characters for suite in self.suites)

    @property
    def agreed(self) -> bool:
        """Whether every suite has inputs, and none of them differs."""
        return bool(self.suites) and all(suite.agreed for suite in self.suites)

    def by_category(self) -> tuple[Category, ...]:
        """Inputs and differences of each category over all suites, in order of appearance."""
        sums: dict[str, list[int]] = {}
        for suite in self.suites:
            for category in suite.categories:
                entry = sums.setdefault(category.name, [0, 0])
                entry[0] += category.inputs
                entry[1] += category.differing
        return tuple(Category(name, inputs, differing) for name, (inputs, differing) in sums.items())

    def to_json(self) -> str:
        """The report as a file: JSON, indented, with a newline at the end. It is UTF-8 whatever names are in it."""
        summary = {name: getattr(self, name) for name in _SUMMARY}
        plain = asdict(self)
        text = json.dumps({"schema": plain.pop("schema"), **summary, **plain}, indent=1, ensure_ascii=False) + "\n"
        return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)

    @staticmethod
    def from_json(text: str | bytes) -> Report:
        """What `to_json` gave. ReportError for anything else, and for one that contradicts itself."""
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
        """ReportError for one that contradicts itself: sums that are none, or a comparison with nothing."""
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
                    f"this parity report contradicts itself: more differ in {suite.name!r:.40} than there are"
                )
        if self.differences and not self.differing:
            raise ReportError("this parity report contradicts itself: it shows differences, and counts none")
        if self.inputs and not self.compared:
            raise ReportError("this parity report does not say what was compared")

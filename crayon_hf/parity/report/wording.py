"""The words of a report's pages, for HTML, Markdown and plots: the verdict, and figures and texts in readable form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from crayon_hf.util.page.words import count, large, visible
from crayon_hf.util.wording import joined, plural

from .model import Report, Speed, SuiteResult

COMPARED, DIFFERS, FAILED, NOTHING = "agreed", "differs", "failed", "nothing"

_SCENARIOS = {
    "first pass": "Text that the process has not seen before.",
    "repeated": "The same text again, after five passes.",
    "short": "One short string a call.",
    "decode": "From ids back to text.",
    "open": "From the files to the first id.",
}


@dataclass(frozen=True)
class Verdict:
    """The outcome of a report in words."""

    kind: str
    """COMPARED (full agreement), DIFFERS, FAILED (no difference found, but some suites did not run) or NOTHING."""
    headline: str
    sentence: str


@dataclass(frozen=True)
class Figure:
    """A number that the page shows in large type, with its name and a remark."""

    value: str
    name: str
    note: str = ""


def clipped(text: str) -> str:
    """Cut a message to about 600 characters. The JSON form of a report has the whole message."""
    shown = visible(text)
    return shown if len(shown) <= 600 else f"{shown[:600]}\u2026 (the JSON has the rest)"


def value(number: float) -> str:
    """Format a measured value with about three digits."""
    if not math.isfinite(number):
        return "?"
    if number >= 10_000_000:
        return f"{number:.1e}"
    if number >= 100 or number == 0:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}" if number >= 0.1 else f"{number:.2g}"


def ratio(number: float | None) -> str:
    """Format a ratio: ``12.4`` and a times sign, or a dash for None."""
    return "\u2013" if number is None else f"{value(number)}\u00d7"


def duration(seconds: float) -> str:
    """Format a duration, such as ``4.7 s`` or ``12 min 3 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def ratio_spread(speed: Speed) -> tuple[float, float] | None:
    """Return the least and greatest speedup over the reference of a single round.

    Return None if the sides have less than two rounds, or unequal numbers of rounds.
    """
    if len(speed.ours) != len(speed.reference) or len(speed.ours) < 2:
        return None
    pairs = (
        zip(speed.ours, speed.reference, strict=True)
        if speed.more_is_better
        else zip(speed.reference, speed.ours, strict=True)
    )
    ratios = [above / below for above, below in pairs if below]
    return (min(ratios), max(ratios)) if len(ratios) == len(speed.ours) else None


def threads(number: int) -> str:
    """A number of threads in words: ``1 thread``."""
    return plural(number, "thread")


def scenario_title(scenario: str) -> str:
    """The scenario's name, capitalised."""
    shown = visible(scenario)
    return shown[:1].upper() + shown[1:]


def scenario_about(scenario: str) -> str:
    """Return one sentence on the measured work, or an empty text for an unknown scenario."""
    return _SCENARIOS.get(scenario, "")


def speed_label(speed: Speed) -> str:
    """The label that distinguishes measurements of one scenario: ``english.txt, 2 threads``."""
    return ", ".join([visible(speed.text)] * bool(speed.text) + [threads(speed.threads)])


def scenarios(report: Report) -> list[tuple[str, str, bool, list[Speed]]]:
    """Group the measurements by scenario, unit and whether more is better, in order of appearance."""
    groups: dict[tuple[str, str, bool], list[Speed]] = {}
    for speed in report.speeds:
        groups.setdefault((speed.scenario, speed.unit, speed.more_is_better), []).append(speed)
    return [(*key, speeds) for key, speeds in groups.items()]


def outcome(suite: SuiteResult) -> str:
    """Return the outcome of a suite in a few words, for the table of suites."""
    if suite.failure:
        return "not compared" if not suite.differing else f"{count(suite.differing)} differ, then failed"
    if not suite.inputs:
        return "no inputs"
    return "agrees" if not suite.differing else f"{count(suite.differing)} of {count(suite.inputs)} differ"


def suite_origin(suite: SuiteResult) -> str:
    """Return the origin of a suite's inputs: the seed of generated inputs, or the digest of a text."""
    parts = [f"seed {suite.seed}"] * (suite.seed is not None)
    parts += [f"SHA-256 {visible(suite.digest)[:12]}\u2026"] if suite.digest else []
    return ", ".join(parts)


def seeds(report: Report) -> list[tuple[str, str]]:
    """Return a name and a value for each seed of the suites. If all suites have one seed, return one pair."""
    found = [(suite.name, suite.seed) for suite in report.suites if suite.seed is not None]
    if len({seed for _, seed in found}) == 1 < len(found):
        return [("Seed", f"{found[0][1]}, of all generated suites")]
    return [(f"Seed of {visible(name)}", str(seed)) for name, seed in found]


def target_about(report: Report) -> str:
    """The kind and size of the target."""
    target = report.target
    size = [plural(target.vocab_size, "token")] if target.vocab_size else []
    return ", ".join([visible(target.kind)] * bool(target.kind) + size)


def verdict(report: Report) -> Verdict:
    """The outcome in a headline and a sentence. Only complete agreement is reported as agreement."""
    target, reference = visible(report.target.name), _side(report.reference.name, report.reference.version)
    failed = [suite for suite in report.suites if suite.failure or not suite.inputs]
    size = f"{plural(report.inputs, 'input')} ({large(report.characters)} characters)"
    if report.agreed:
        return Verdict(
            COMPARED,
            "Agreement in full",
            f"On {target}, {_side(report.ours.name, report.ours.version)} gave the same results as {reference} for all "
            f"{size}.",
        )
    if report.differing:
        rest = f" {plural(len(failed), 'suite')} could not be compared." if failed else ""
        return Verdict(
            DIFFERS,
            f"{plural(report.differing, 'difference')}",
            f"On {target}, {_side(report.ours.name, report.ours.version)} and {reference} differ for "
            f"{count(report.differing)} of {size}.{rest}",
        )
    if not report.inputs:
        return Verdict(
            NOTHING,
            "Nothing was compared",
            f"On {target}, no input was given to both {_side(report.ours.name, report.ours.version)} and {reference}.",
        )
    return Verdict(
        FAILED,
        f"Not complete: {plural(len(failed), 'suite')} not compared",
        f"On {target}, {_side(report.ours.name, report.ours.version)} and {reference} agree for {size}, but "
        f"{_listed([suite.name for suite in failed])} could not be compared, so nothing is certified.",
    )


def key_figures(report: Report) -> list[Figure]:
    """At most six figures: the amount compared, and the speeds."""
    categories = report.by_category()
    figures = [
        Figure(large(report.inputs), "inputs", f"in {plural(len(report.suites), 'suite')}"),
        Figure(large(report.characters), "characters", _exactly(report.characters)),
        Figure(count(len(categories)), "categories" if len(categories) != 1 else "category"),
        Figure(count(len(report.compared)), "fields compared" if len(report.compared) != 1 else "field compared"),
    ]
    running = [speed.ratio for speed in report.speeds if speed.scenario != "open" and speed.ratio is not None]
    opening = [speed for speed in report.speeds if speed.scenario == "open" and speed.ratio is not None]
    if running:
        low, high = ratio(min(running)), ratio(max(running))
        note = f"of {plural(len(running), 'measurement')}"
        figures.append(Figure(low if low == high else f"{low[:-1]}\u2013{high}", "as fast", note))
    if opening:
        first = opening[0]
        note = f"{value(median(first.ours))} {visible(first.unit)}, not {value(median(first.reference))}"
        figures.append(Figure(ratio(first.ratio), "as fast to open", note))
    return figures


def caveats(report: Report) -> list[str]:
    """The conclusions that a reader can draw, and their limits, in a sentence or two each."""
    lines = []
    if report.agreed:
        lines.append(
            "Every field listed was equal, value for value, on every input counted here. That is evidence, not proof: "
            "it does not cover inputs that were not tried, or other versions of either side."
        )
    elif report.differing:
        lines.append(
            "Each difference is a defect until it is explained. The numbers count inputs, not causes: one cause can "
            "make many inputs differ. The agreement holds for these inputs and versions alone."
        )
    else:
        lines.append("The suites that were not compared may agree or differ; this report does not say which.")
    if report.speeds:
        lines.append(
            "Speeds are medians of rounds in which both sides took turns on this machine. Other machines and texts "
            "have other speeds. Rounds that differ widely mean a noisy machine: read the spread before the ratio."
        )
    lines.append(
        "The command, with these versions, seeds and texts (see their digests), compares the same inputs again."
    )
    return lines


def _side(name: str, version: str) -> str:
    return f"{visible(name)} {visible(version)}".strip()


def _exactly(number: int) -> str:
    return count(number) if large(number) != count(number) else ""


def _listed(names: Iterable[str]) -> str:
    shown: Sequence[str] = [visible(name) for name in names]
    if len(shown) > 4:
        return f"{', '.join(shown[:3])} and {len(shown) - 3} more"
    return joined(shown)

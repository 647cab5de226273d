"""A report as GitHub-flavoured Markdown: the content of the HTML page, in tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from statistics import median

from crayon_hf.util.markdown import escaped, fenced, table
from crayon_hf.util.page.words import count, visible

from .model import Category, DifferenceShown, Report, Speed, SuiteResult
from .wording import (
    caveats,
    clipped,
    duration,
    outcome,
    ratio,
    ratio_spread,
    scenario_title,
    suite_origin,
    target_about,
    threads,
    value,
    verdict,
)

__all__ = ["speed_table", "to_markdown"]


def to_markdown(report: Report) -> str:
    """Return the report, which ends with a newline. Equal reports give equal texts.

    Text from the report is escaped, so it cannot form markup, links or mentions, or leave its cell.
    """
    said = verdict(report)
    parts = [
        f"# Parity report: {escaped(report.target.name)}",
        f"**{said.headline}.** {escaped(said.sentence)}",
        table(("", ""), _facts(report)),
    ]
    if report.differences or report.differing:
        parts += ["## Differences", *_differences(report)]
    if report.by_category():
        parts += ["## Agreement by category", _categories(report.by_category())]
    parts += ["## Suites", _suites(report.suites) if report.suites else "No suite was run."]
    if report.speeds:
        note = "Medians, with the least and the greatest round; both sides took turns in one run."
        parts += ["## Speed", note, speed_table(report)]
    parts += ["## To repeat it", fenced(visible(report.command, keep="\n\t"), "sh")]
    if report.versions:
        versions = ((escaped(name), escaped(version)) for name, version in sorted(report.versions.items()))
        parts.append(table(("package", "version"), versions))
    if report.machine:
        parts.append(table(("platform",), ((escaped(line),) for line in report.machine)))
    parts += ["## How to read this report", *map(escaped, report.notes), " ".join(caveats(report))]
    return "\n\n".join(parts) + "\n"


def speed_table(report: Report) -> str:
    """Return the speeds of a report as a Markdown table with one row for each measurement."""
    heads = ("", "text", "", f"{escaped(report.ours.name)}", f"{escaped(report.reference.name)}", "as fast")
    return table(heads, map(_speed, report.speeds), numbers=3)


def _facts(report: Report) -> list[tuple[str, str]]:
    target, ours, reference = report.target, report.ours, report.reference
    details = f" ({escaped(ours.details)})" if ours.details else ""
    return [
        ("vocabulary", ": ".join(filter(None, (escaped(target.name), escaped(target_about(report)))))),
        *([("source, SHA-256", escaped(target.source_digest))] if target.source_digest else []),
        ("checked", f"{escaped(ours.name)} {escaped(ours.version)}{details}"),
        ("against", f"{escaped(reference.name)} {escaped(reference.version)}"),
        ("inputs", f"{count(report.inputs)}, with {count(report.characters)} characters"),
        ("compared", ", ".join(map(escaped, report.compared)) or "nothing"),
        ("differences", count(report.differing)),
        ("started", f"{escaped(report.started)}, took {duration(report.seconds)}"),
    ]


def _categories(categories: Sequence[Category]) -> str:
    ordered = sorted(categories, key=lambda each: not each.differing)
    rows = (
        (escaped(each.name), count(each.inputs), f"**{count(each.differing)}**" if each.differing else "0")
        for each in ordered
    )
    return table(("category", "inputs", "differing"), rows, numbers=2)


def _suites(suites: Sequence[SuiteResult]) -> str:
    def row(suite: SuiteResult) -> tuple[str, ...]:
        said = outcome(suite) if suite.agreed else f"**{outcome(suite)}**"
        said += f": {escaped(clipped(suite.failure))}" if suite.failure else ""
        about = ", ".join(escaped(part) for part in (suite.kind, suite.about) if part)
        numbers = (count(suite.inputs), count(suite.characters), duration(suite.seconds))
        return (escaped(suite.name), about, escaped(suite_origin(suite)), said, *numbers)

    heads = ("suite", "what", "from", "outcome", "inputs", "characters", "time")
    return table(heads, map(row, suites), numbers=3)


def _differences(report: Report) -> list[str]:
    shown = len(report.differences)
    parts = []
    if shown < report.differing:
        parts.append(f"{count(shown)} of {count(report.differing)} are shown.")
    for place, each in enumerate(report.differences, 1):
        where = ", ".join(escaped(part) for part in (each.category, each.suite) if part)
        parts += [f"{place}\\. {where}", fenced(_shown(each, report.ours.name, report.reference.name), "text")]
    return parts


def _shown(each: DifferenceShown, ours: str, reference: str) -> str:
    """Return the minimised input and the results of both sides, in columns."""
    rows = [("smallest input" if not place else "and", text) for place, text in enumerate(each.smallest)]
    rows += [
        ("found as" if not place else "and", text)
        for place, (text, small) in enumerate(zip_longest(each.found, each.smallest))
        if text is not None and text != small
    ]
    for values in each.fields:
        rows += [(f"{values.field}: {ours}", values.ours), (f"{values.field}: {reference}", values.reference)]
    if not each.alone:
        rows.append(("note", "it differs only within its batch"))
    plain = [(visible(name), visible(text)) for name, text in rows]
    width = min(40, max((len(name) for name, _ in plain), default=0))
    # Bars at both ends make leading and trailing spaces visible.
    return "\n".join(f"{name:<{width}} |{text}|" for name, text in plain)


def _speed(speed: Speed) -> tuple[str, ...]:
    spread = ratio_spread(speed)
    between = f" ({value(spread[0])}\u2013{value(spread[1])})" if spread else ""
    return (
        escaped(scenario_title(speed.scenario)),
        escaped(speed.text),
        threads(speed.threads),
        *(_rounds(rounds, speed.unit) for rounds in (speed.ours, speed.reference)),
        f"**{ratio(speed.ratio)}**{between}" if speed.ratio is not None else "\u2013",
    )


def _rounds(rounds: Sequence[float], unit: str) -> str:
    if not rounds:
        return "not measured"
    low, high = value(min(rounds)), value(max(rounds))
    spread = f" ({low}\u2013{high})" if low != high else ""
    return f"{value(median(rounds))} {escaped(unit)}{spread}"

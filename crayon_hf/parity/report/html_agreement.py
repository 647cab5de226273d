"""The page's part on agreement: categories as tiles, suites as a table, every difference with its smallest input."""

from __future__ import annotations

from crayon_hf.util.page.markup import code, literal, mark, section, text

from .alignment import Run, align
from .model import Category, DifferenceShown, FieldValues, Report, SuiteResult
from .wording import clipped, count, duration, outcome, plural, suite_origin, visible

__all__ = ["categories", "differences", "suites"]

_OPEN = 3
"""So many differences are unfolded at first."""


def categories(report: Report) -> str:
    """A tile for each category, those that differ first; empty without categories."""
    found = sorted(report.by_category(), key=lambda each: not each.differing)
    if not found:
        return ""
    tried = [each for each in found if each.inputs]
    agreeing = sum(not each.differing for each in tried)
    note = (
        f"All {plural(len(found), 'category', 'categories')} agree."
        if agreeing == len(found) > 1
        else f"{count(agreeing)} of {plural(len(found), 'category', 'categories')} "
        f"{'agrees' if agreeing == 1 else 'agree'}."
    )
    if uncovered := sum(suite.inputs for suite in report.suites if not suite.categories):
        note += f" Another {plural(uncovered, 'input')} from texts stand in the table of suites."
    tiles = "\n".join(map(_tile, found))
    return section("categories", "Agreement by category", [f'<ul class="tiles">\n{tiles}\n</ul>'], note)


def _tile(category: Category) -> str:
    if category.differing:
        kind, said = "no", f"<b>{count(category.differing)}</b> of {plural(category.inputs, 'input')} differ"
    elif category.inputs:
        kind, said = "yes", f'{plural(category.inputs, "input")}<span class="unseen">, all agree</span>'
    else:
        kind, said = "unknown", "no inputs"
    name = text(category.name).replace("_", "_<wbr>")
    return (
        f'<li class="tile {kind}">{mark(kind)}<span class="name">{name}</span>'
        f'<span class="said">{said}</span>{_share(category)}</li>'
    )


def _share(category: Category) -> str:
    """A bar: what agrees, and what does not, never too thin to be seen."""
    if not category.inputs:
        return ""
    differing = min(100.0, max(4.0, 100 * category.differing / category.inputs)) if category.differing else 0.0
    bar = f'<rect class="yes" width="{100 - differing:.1f}%" height="4"/>' if differing < 100 else ""
    if differing:
        bar += f'<rect class="no" x="{100 - differing:.1f}%" width="{differing:.1f}%" height="4"/>'
    return f'<svg class="share" width="100%" height="4" aria-hidden="true" focusable="false">{bar}</svg>'


def suites(report: Report) -> str:
    """The table of suites, with a row of sums when there are several."""
    heads = {"Suite": "words", "Inputs": "number", "Characters": "number", "Time": "number", "Outcome": "words"}
    head = "".join(f'<th role="columnheader" scope="col" class="{kind}">{name}</th>' for name, kind in heads.items())
    rows = [_suite(suite) for suite in report.suites]
    if not rows:
        return section("suites", "Suites", ["<p>No suite was run.</p>"])
    if len(rows) > 1:
        rows.append(
            '<tr role="row" class="sum"><th role="rowheader" scope="row">Together</th>'
            + _numbers(report.inputs, report.characters, sum(suite.seconds for suite in report.suites))
            + f'<td role="cell" data-label="Outcome">{plural(report.differing, "difference")}</td></tr>'
        )
    body = "\n".join(rows)
    table = (
        '<table role="table" class="suites"><caption class="unseen">What was compared, suite by suite</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n<tbody role="rowgroup">\n{body}\n</tbody></table>'
    )
    fields = ", ".join(map(code, report.compared)) or "none"
    return section("suites", "Suites", [table], f"Compared of every input: {fields}.")


def _suite(suite: SuiteResult) -> str:
    kind = "no" if suite.differing else "unknown" if not suite.agreed else "yes"
    origin = suite_origin(suite)
    digest = f' title="{text(suite.digest)}"' if suite.digest else ""
    about = f'<span class="about">{text(suite.about)}</span>' if suite.about else ""
    # A row of its own: messages can be long.
    failure = (
        f'\n<tr role="row" class="why"><td role="cell" colspan="5">{text(clipped(suite.failure))}</td></tr>'
        if suite.failure
        else ""
    )
    return (
        f'<tr role="row"><th role="rowheader" scope="row"><span class="name">{text(suite.name)}</span> '
        f'<span class="tag">{text(suite.kind)}</span>{about}'
        f'<span class="origin"{digest}>{text(origin)}</span></th>'
        + _numbers(suite.inputs, suite.characters, suite.seconds)
        + f'<td role="cell" data-label="Outcome"><span class="outcome {kind}">{mark(kind)}{text(outcome(suite))}</span>'
        f"</td></tr>{failure}"
    )


def _numbers(inputs: int, characters: int, seconds: float) -> str:
    cells = (("Inputs", count(inputs)), ("Characters", count(characters)), ("Time", duration(seconds)))
    return "".join(f'<td role="cell" class="number" data-label="{name}">{said}</td>' for name, said in cells)


def differences(report: Report) -> str:
    """Every difference, folded after the first few; empty when there is none."""
    if not report.differing and not report.differences:
        return ""
    shown = len(report.differences)
    note = f"{plural(report.differing, 'input')} {'differs' if report.differing == 1 else 'differ'}"
    note += "." if shown >= report.differing else f"; {count(shown)} of them {'is' if shown == 1 else 'are'} shown."
    note += " Each was made as small as it could be; where the two sides part is <mark>marked</mark>."
    parts = [
        _difference(place, each, visible(report.ours.name), visible(report.reference.name))
        for place, each in enumerate(report.differences, 1)
    ]
    return section("differences", "Differences", parts, note)


def _difference(place: int, each: DifferenceShown, ours: str, reference: str) -> str:
    smallest = ' <span class="and">and</span> '.join(map(literal, each.smallest))
    found = "".join(
        f'<p class="found"><span>Found as</span> {literal(part)}</p>'
        for part, small in zip(each.found, [*each.smallest, *each.found], strict=False)
        if part != small
    )
    batch = "" if each.alone else "<p>It differs only within its batch; alone it agrees.</p>"
    rows = "\n".join(_field(values, ours, reference) for values in each.fields)
    label = f"What both sides say of difference {place}"
    return (
        f'<details class="difference"{" open" if place <= _OPEN else ""}><summary>'
        f'<h3><span class="place">{place}</span>{smallest}</h3>'
        f'<span class="where">{text(each.category)}, {text(each.suite)}</span></summary>\n'
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table class="values">'
        f'<caption class="unseen">{label}</caption>\n{rows}\n</table></div>\n{batch}{found}</details>'
    )


def _field(values: FieldValues, ours: str, reference: str) -> str:
    runs = align(visible(values.ours), visible(values.reference))
    return (
        f'<tbody><tr><th colspan="2" scope="rowgroup">{text(values.field)}</th></tr>\n'
        f'<tr><th scope="row">{text(ours)}</th><td>{_side(runs, True)}</td></tr>\n'
        f'<tr><th scope="row">{text(reference)}</th><td>{_side(runs, False)}</td></tr></tbody>'
    )


def _side(runs: list[Run], ours: bool) -> str:
    """One side's value; what is missing beside the other side is drawn by the style sheet and is not text."""
    parts = []
    for run in runs:
        said = run.ours if ours else run.reference
        gap = f'<i data-gap="{" " * (run.width - len(said))}"></i>' if len(said) < run.width else ""
        parts.append((text(said) if run.equal else f"<mark>{text(said)}</mark>" if said else "") + gap)
    return f"<code>{''.join(parts)}</code>"

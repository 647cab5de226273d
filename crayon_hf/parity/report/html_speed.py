"""The page's part on speed: bars from zero for both sides, a tick for every round, ratios with their spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from crayon_hf.util.page.markup import section, text

from .model import Report, Speed
from .wording import plural, ratio, ratio_spread, scenario_about, scenario_title, scenarios, speed_label, value

__all__ = ["speed"]

_FULL = 97.0
"""Per cent of the width that the greatest round takes, so that its tick is seen whole."""


def speed(report: Report) -> str:
    """A panel for each scenario; empty without measurements."""
    if not report.speeds:
        return ""
    sides = (report.ours.name, report.reference.name)
    panels = [_panel(*group, sides) for group in scenarios(report)]
    note = (
        "Bars show the median and begin at zero; each tick is one round. Both sides took turns in one run. "
        f'<span class="key"><i class="ours"></i>{text(sides[0])}</span> '
        f'<span class="key"><i class="reference"></i>{text(sides[1])}</span>'
    )
    return section("speed", "Speed, side by side", ['<div class="panels">', *panels, "</div>"], note)


def _panel(scenario: str, unit: str, more: bool, speeds: Sequence[Speed], sides: tuple[str, str]) -> str:
    top = max(_drawn(each for speed in speeds for each in (*speed.ours, *speed.reference)), default=0.0)
    rows = "\n".join(_measure(each, sides, top) for each in speeds)
    about = f'<p class="about">{text(scenario_about(scenario))}</p>' if scenario_about(scenario) else ""
    better = "longer is better" if more else "shorter is better"
    title = text(scenario_title(scenario))
    return (
        f'<article class="panel"><h3>{title} <span class="unit">{text(unit)}, {better}</span></h3>{about}\n'
        f'<table class="bars"><caption class="unseen">{title}, {text(unit)}</caption>\n'
        '<thead class="unseen"><tr><th scope="col">Side</th><th scope="col">Bar</th>'
        f'<th scope="col">Median</th></tr></thead>\n{rows}\n</table></article>'
    )


def _measure(speed: Speed, sides: tuple[str, str], top: float) -> str:
    spread = ratio_spread(speed)
    slower = speed.ratio is not None and speed.ratio < 1
    if speed.ratio is None:
        said = '<span class="none">nothing to compare with</span>'
    else:
        words = "as fast" if not slower else "as fast (slower)"
        between = f" {value(spread[0])}\u2013{value(spread[1])} by round" if spread else ""
        said = f'<b>{text(ratio(speed.ratio))}</b> {words}{"," if between else ""}<span class="spread">{between}</span>'
    label = text(speed_label(speed))
    head = (
        f'<tr><th colspan="3" scope="rowgroup"><span class="measure"><span class="label">{label}</span> '
        f'<span class="ratio{" slower" if slower else ""}">{said}</span></span></th></tr>'
    )
    both = zip(sides, ("ours", "reference"), (speed.ours, speed.reference), strict=True)
    rows = "\n".join(_row(name, kind, rounds, speed, top) for name, kind, rounds in both)
    return f"<tbody>{head}\n{rows}</tbody>"


def _row(name: str, kind: str, rounds: Sequence[float], speed: Speed, top: float) -> str:
    if not rounds:
        cells = '<td></td><td class="number">not measured</td>'
    else:
        low, high = value(min(rounds)), value(max(rounds))
        spread = f'<span class="spread">{low}\u2013{high}</span>' if low != high else ""
        said = f"{value(median(rounds))} {speed.unit}"
        title = f"{name}: {said}"
        about = f"{speed.scenario}, {speed_label(speed)}: {plural(len(rounds), 'round')}, {low} to {high} {speed.unit}"
        cells = f'<td>{_bar(kind, rounds, top, title, about)}</td><td class="number">{text(said)}{spread}</td>'
    return f'<tr><th scope="row" class="side">{text(name)}</th>{cells}</tr>'


def _bar(kind: str, rounds: Sequence[float], top: float, title: str, about: str) -> str:
    def at(number: float) -> float:
        return _FULL * number / top if top else 0.0

    drawn = list(_drawn(rounds))
    ticks = "".join(
        f'<line class="{layer}" x1="{at(each):.2f}%" x2="{at(each):.2f}%" y1="2" y2="20"/>'
        for layer in ("halo", "tick")
        for each in sorted(set(drawn))
    )
    # The line at zero stays when a bar is too short to be seen beside the other.
    return (
        f'<svg class="bar" role="img" width="100%" height="22"><title>{text(title)}</title><desc>{text(about)}</desc>'
        f'<rect class="{kind}" y="5" width="{at(median(drawn)) if drawn else 0.0:.2f}%" height="12" rx="1.5"/>'
        f'{ticks}<line class="zero" x1="0" x2="0" y1="1" y2="21"/></svg>'
    )


def _drawn(numbers: Iterable[float]) -> Iterable[float]:
    return (each for each in numbers if math.isfinite(each) and each >= 0)

"""The plot of a report's speeds for a model card: ours beside the reference, on logarithmic scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from statistics import median
from typing import Any, Literal

from crayon_hf.util.extras import needed
from crayon_hf.util.page.words import visible

from .model import Report, ReportError, Speed
from .wording import ratio, scenario_title, speed_label, value, verdict

__all__ = ["speed_plot"]

# An opaque background: on a transparent one, text would need a grey that is weak on white and on dark pages alike.
PAPER, EDGE, INK, SOFT, GRID = "#ffffff", "#d5d9e0", "#171c24", "#555e6c", "#e6e9ee"
OURS, REFERENCE = "#2b56c4", "#6f7b8d"
WIDTH = 8.4
"""The plot's width in inches; its height follows from the number of rows."""
ROW, HEAD, AXIS, TOP, BOTTOM = 0.34, 0.34, 0.4, 0.82, 0.08
LONGEST_LABEL = 38
SETTINGS: Any = {
    "svg.hashsalt": "crayon-hf",
    "svg.fonttype": "path",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
}
MOST_ROWS = 40


@dataclass(frozen=True)
class _Panel:
    unit: str
    more_is_better: bool
    speeds: Sequence[Speed]

    @property
    def height(self) -> float:
        return HEAD + ROW * len(self.speeds) + AXIS


def speed_plot(report: Report, fmt: Literal["svg", "png"]) -> bytes:
    """Return the plot as an SVG, or as a PNG of twice its size.

    It has a panel for each unit and a row for each measurement. A row has a dot at the median of each side, a small
    mark for each round, and the ratio at its end. Scales are logarithmic. Measurements without a positive value and
    those after the first 40 are left out. Equal reports give equal bytes with the same version of matplotlib.

    Neither pyplot nor the user's matplotlib settings are used. The call replaces the settings while it draws, so no
    other thread should draw at the same time.

    Raises:
        ReportError: The report has no speeds to draw.
        MissingExtraError: matplotlib is not installed.
        ValueError: `fmt` is another format.
    """
    if fmt not in ("svg", "png"):
        raise ValueError(f"a plot is 'svg' or 'png', not {fmt!r}")
    panels = _panels(report)
    if not panels:
        raise ReportError("this report has no speeds to plot; measure them: run `parity` without --no-speed")
    with needed("a plot", "report"):
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.font_manager import FontProperties, findfont, get_font
    stream = BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        report = _drawable(report, get_font(findfont(FontProperties(weight="bold"))).get_char_index)
        panels = _panels(report)
        height = TOP + sum(panel.height for panel in panels) + BOTTOM
        figure = Figure(figsize=(WIDTH, height), facecolor=PAPER, edgecolor=EDGE, linewidth=1)
        _head(figure, report, height)
        top = height - TOP
        for panel in panels:
            _draw(figure, panel, top, height)
            top -= panel.height
        metadata: dict[str, Any] = {"Date": None, "Creator": None} if fmt == "svg" else {"Software": None}
        metadata["Title"] = _short(f"{report.target.name}: {report.ours.name} beside {report.reference.name}", 200)
        figure.savefig(stream, format=fmt, dpi=144, metadata=metadata, facecolor=PAPER, edgecolor=EDGE)
    return stream.getvalue()


def _panels(report: Report) -> list[_Panel]:
    groups: dict[tuple[str, bool], list[Speed]] = {}
    left = MOST_ROWS
    for speed in report.speeds:
        if left and any(_drawn(rounds) for rounds in (speed.ours, speed.reference)):
            groups.setdefault((speed.unit, speed.more_is_better), []).append(speed)
            left -= 1
    return [_Panel(*key, speeds) for key, speeds in groups.items()]


def _drawn(rounds: Sequence[float]) -> list[float]:
    """Return the rounds that a logarithmic scale can show: finite and positive."""
    return [each for each in rounds if math.isfinite(each) and each > 0]


def _drawable(report: Report, glyph: Callable[[int], int]) -> Report:
    """Return the report with invisible characters, and characters missing from the font, spelled as escapes.

    `glyph` returns the number of the font's glyph for a code point, or 0.
    """

    def drawn(text: str) -> str:
        return "".join(char if glyph(ord(char)) else ascii(char)[1:-1] for char in visible(text))

    return replace(
        report,
        target=replace(report.target, name=drawn(report.target.name)),
        ours=replace(report.ours, name=drawn(report.ours.name), version=drawn(report.ours.version)),
        reference=replace(report.reference, name=drawn(report.reference.name), version=drawn(report.reference.version)),
        machine=tuple(map(drawn, report.machine)),
        speeds=tuple(
            replace(speed, scenario=drawn(speed.scenario), text=drawn(speed.text), unit=drawn(speed.unit))
            for speed in report.speeds
        ),
    )


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def _head(figure: Any, report: Report, height: float) -> None:
    def at(inches: float) -> float:
        return 1 - inches / height

    left, target = 0.25 / WIDTH, _short(report.target.name, 42)
    figure.text(left, at(0.36), f"{target}: speed", size=13, weight="bold", color=INK)
    said = verdict(report).headline
    said += f" with {_short(report.reference.name, 24)}" + (f" \u00b7 {report.machine[0]}" if report.machine else "")
    figure.text(left, at(0.6), _short(said, 76), size=8.5, color=SOFT)
    for place, (library, color, shape) in enumerate(
        ((report.ours, OURS, "\u25cf"), (report.reference, REFERENCE, "\u25c6"))
    ):
        name = f"{shape} {_short(f'{library.name} {library.version}', 26)}"
        figure.text(1 - left, at(0.36 + 0.22 * place), name, size=9, color=color, weight="bold", ha="right")


def _draw(figure: Any, panel: _Panel, top: float, height: float) -> None:
    """Draw a panel whose upper edge is ``top`` inches above the lower edge of the figure."""
    left, right, rows = 2.75, 1.05, len(panel.speeds)
    bottom = top - HEAD - ROW * rows
    axes = figure.add_axes((left / WIDTH, bottom / height, (WIDTH - left - right) / WIDTH, ROW * rows / height))
    better = "more is better" if panel.more_is_better else "less is better"
    title = f"{_short(panel.unit, 30)}, {better}"
    figure.text(left / WIDTH, (top - HEAD * 0.6) / height, title, size=8.5, color=SOFT)
    everything = [each for speed in panel.speeds for rounds in (speed.ours, speed.reference) for each in _drawn(rounds)]
    low, high = math.log10(min(everything)), math.log10(max(everything))
    # Leave room beside the extreme values. Show at least half a decade, so that small differences look small.
    room = max(0.17 * (high - low), 0.25)
    axes.set_xscale("log")
    axes.set_xlim(10 ** (low - room), 10 ** (high + room))
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks(range(rows), [_label(speed) for speed in panel.speeds])
    axes.tick_params(axis="y", length=0, pad=8, labelcolor=INK, labelsize=9)
    axes.tick_params(axis="x", which="both", length=0, pad=5, labelcolor=SOFT, labelsize=8)
    ticks = _ticks(low - room, high + room)
    axes.set_xticks(ticks, [f"{tick:,.0f}" if 1 <= tick < 1e6 else f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for row, speed in enumerate(panel.speeds):
        _row(axes, row, speed)


def _row(axes: Any, row: int, speed: Speed) -> None:
    sides = [
        (median(rounds), rounds, color, shape)
        for rounds, color, shape in (
            (_drawn(speed.reference), REFERENCE, "D"),
            (_drawn(speed.ours), OURS, "o"),
        )
        if rounds
    ]
    if len(sides) == 2:
        axes.plot([sides[0][0], sides[1][0]], [row, row], color="#b9c4d6", linewidth=2.4, zorder=1)
    for middle, rounds, color, shape in sides:
        axes.plot(rounds, [row] * len(rounds), "|", color=color, markersize=11, markeredgewidth=0.9, zorder=2)
        size = 7.5 if shape == "o" else 5.8
        axes.plot([middle], [row], shape, color=color, markersize=size, markeredgecolor=PAPER, zorder=3)
        after = middle == max(side[0] for side in sides)
        axes.annotate(
            value(middle),
            (max(rounds) if after else min(rounds), row),
            xytext=(7 if after else -7, 0),
            textcoords="offset points",
            ha="left" if after else "right",
            va="center",
            size=8,
            color=color,
        )
    said, color = (ratio(speed.ratio), INK) if speed.ratio is not None else ("\u2013", SOFT)
    axes.annotate(
        said,
        (1, row),
        xycoords=("axes fraction", "data"),
        xytext=(50, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        size=9.5,
        weight="bold",
        color=color,
    )


def _label(speed: Speed) -> str:
    return _short(f"{scenario_title(speed.scenario)}: {speed_label(speed)}", LONGEST_LABEL)


def _ticks(low: float, high: float) -> list[float]:
    """Return at most seven round numbers between the powers of ten with the exponents ``low`` and ``high``."""
    first, last = math.floor(low), math.ceil(high)
    for parts in ((1, 2, 5), (1, 3), (1,)):
        ticks = [part * 10.0**power for power in range(first, last + 1) for part in parts]
        ticks = [tick for tick in ticks if low <= math.log10(tick) <= high]
        if len(ticks) <= 7:
            return ticks
    step = math.ceil((last - first) / 6)
    return [10.0**power for power in range(first, last + 1, step) if low <= power <= high]

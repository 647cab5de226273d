"""Drawings of a command's output on a colour terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from drawing import Drawing, Theme
from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
WIDTH, MARGIN, COLUMNS, LINE = 760, 20, 92, 20
ADVANCE = (WIDTH - 2 * MARGIN) / COLUMNS
RED = 1
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def terminal(arguments: Sequence[str], theme: Theme) -> str:
    """Draw the command and its output."""
    line = shlex.join(["crayon-hf", *arguments])
    lines = [f"$ {line}", "", *output(tuple(arguments)).splitlines()]
    height = 2 * MARGIN + LINE * len(lines)
    drawing = Drawing(WIDTH, line, theme)
    drawing.box(0.5, 0.5, WIDTH - 1, height - 1, theme.page, theme.grid)
    for number, each in enumerate(lines):
        for column, width, text, style in parts(each):
            x, y = MARGIN + ADVANCE * column, MARGIN + LINE * number
            if style.bgcolor is not None:
                drawing.ground(x, y, ADVANCE * width, LINE, color(style.bgcolor, theme))
            if text.strip():
                ink = theme.soft if style.dim else theme.ink if style.color is None else color(style.color, theme)
                drawing.text(
                    x,
                    y + 14.5,
                    text,
                    fill=ink,
                    font_family=FONT,
                    font_weight="600" if style.bold else "",
                    text_decoration="underline" if style.underline else "",
                    textLength=f"{ADVANCE * width:g}",
                    lengthAdjust="spacingAndGlyphs",
                )
    return drawing.svg(height)


@cache
def output(arguments: tuple[str, ...]) -> str:
    """Return the command's output with colours."""
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "PYTHONIOENCODING": "utf-8"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "crayon_hf", *arguments, "--color", "always"]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def parts(line: str) -> Iterator[tuple[int, int, str, Style]]:
    """Yield each run of one style: column, width, text and style."""
    column = 0
    for part in Text.from_ansi(line).render(Console(color_system="256")):
        width = cell_len(part.text)
        yield column, width, part.text.rstrip("\n"), part.style or Style()
        column += width


def color(wanted: Color, theme: Theme) -> str:
    """Return one of the 256 colours, or the page's own red."""
    return theme.alert if wanted.number == RED else wanted.get_truecolor().hex

"""The pictures of README and docs, light and dark: `make pictures` writes docs/pictures.

Each shows contents of the repository: a table of the documentation, a text in the tokens of a packaged profile, or a
report in docs/examples. Drawings are SVG; screenshots of pages are PNG and need a browser (see `screenshots`).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import layer_pictures
import screenshots
from drawing import DARK, LIGHT, Drawing, Theme
from terminal_picture import terminal

ROOT = Path(__file__).resolve().parents[1]
TO = ROOT / "docs" / "pictures"
CALLS = {"1,000 texts, lists": "1,000 texts to lists", "np": "to NumPy, padded", "pt": "to PyTorch, padded"}
CALLS |= {"from_pretrained, again": "from_pretrained again"}


def speed(theme: Theme) -> str:
    """Each call's speed relative to stock transformers: the brackets of a table in docs/performance.md."""
    titles, rows = table("performance.md", "## As a transformers tokenizer")
    calls = {title: [_bracket(row[at]) for row in rows] for at, title in enumerate(titles) if at > 1}
    drawing = Drawing(760, "Speed as a multiple of transformers with tokenizers", theme)
    drawing.text(16, 28, "How many times as fast as stock transformers", size=16, font_weight="600")
    drawing.text(16, 48, "Each dot is a vocabulary and a text; the scale is logarithmic.", fill=theme.soft)
    left, right, top, step = 196, 664, 84, 34
    bottom = top + step * (len(calls) - 1) + 16

    def at(times: float) -> float:
        return left + (right - left) * math.log10(times) / math.log10(1200)

    for times in (1, 3, 10, 30, 100, 300, 1000):
        drawing.line(at(times), top - 16, at(times), bottom, theme.soft if times == 1 else theme.grid)
        label = "as fast" if times == 1 else f"{times}x"
        drawing.text(at(times), bottom + 18, label, anchor="middle", size=12, fill=theme.soft)
    for number, (call, ratios) in enumerate(calls.items()):
        y = top + step * number
        drawing.text(left - 14, y + 4, CALLS.get(call, call), anchor="end")
        drawing.line(at(min(ratios)), y, at(max(ratios)), y, theme.range, 6)
        for ratio in ratios:
            drawing.dot(at(ratio), y, theme.mark)
        drawing.text(right + 80, y + 4, f"{min(ratios):g}\u2013{max(ratios):g}x", anchor="end", font_weight="600")
    return drawing.svg(bottom + 32)


def _bracket(cell: str) -> float:
    found = re.search(r"\((\d+)\)", cell)
    assert found is not None, cell
    return float(found[1])


def table(page: str, heading: str) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the rows of the first table below a heading of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = iter(text[text.index(heading) :].splitlines())
    cells = [line.strip("|").split("|") for line in _block(lines)]
    stripped = [[cell.strip() for cell in row] for row in cells]
    return stripped[0], stripped[2:]


def _block(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("|"):
            yield line
            break
    for line in lines:
        if not line.startswith("|"):
            return
        yield line


def way(theme: Theme) -> str:
    """The steps from a text to its ids, and from a vocabulary to the cartridge that the steps read."""
    drawing = Drawing(760, "How a text becomes ids", theme)
    steps = ("text", "added tokens", "normalizer", "pretokens", "model", "special tokens", "ids")
    width, gap, y = 98, 10, 118
    for at, step in enumerate(steps):
        x = 8 + at * (width + gap)
        end = step in ("text", "ids")
        drawing.box(x, y, width, 44, theme.fills[0] if end else theme.fills[1], theme.soft)
        drawing.text(x + width / 2, y + 27, step, anchor="middle", size=12, font_weight="600" if end else "400")
        if at:
            drawing.line(x - gap, y + 22, x, y + 22, theme.soft, 2)
    compile_steps = ("tokenizer.json", "compiler", "cartridge, mapped into memory")
    places = ((116, 150), (282, 100), (398, 246))
    for step, (x, wide) in zip(compile_steps, places, strict=True):
        drawing.box(x, 24, wide, 44, theme.fills[2], theme.soft)
        drawing.text(x + wide / 2, 51, step, anchor="middle", size=12, font_weight="600")
        if x > 116:
            drawing.line(x - 16, 46, x, 46, theme.soft, 2)
    drawing.text(8, 51, "once:", size=12, fill=theme.soft)
    drawing.text(8, 104, "each text:", size=12, fill=theme.soft)
    for x in (165, 273, 381, 489, 597):
        drawing.line(x, y, min(max(x, 410), 632), 68, theme.grid, 2)
    return drawing.svg(176)


def merges(theme: Theme) -> str:
    """The pretokens of a sentence, and the merges of one of them, with the packaged profile ``lite``."""
    from crayon_hf import _core, profiles

    engine = _core.Engine.open(str(Path(profiles.__file__).parent / "lite.dat"))
    text = "Hello, tokenizer!"
    (part,) = engine.trace_parts(text)
    pieces = [text.encode()[piece["start"] : piece["end"]] for piece in part["pieces"]]
    drawing = Drawing(760, f"The pretokens of {text!r}, and the merges of one", theme)
    drawing.text(16, 28, "Pretokens: merges never cross their ends", size=13, fill=theme.soft)
    x = 16.0
    for number, piece in enumerate(pieces):
        x = _tokens(drawing, x, 40, [piece], theme.fills[number % 4]) + 14
    longest = max(pieces, key=len)
    traced = engine.trace_piece(longest)
    y = 112
    drawing.text(16, y, "Merges of one pretoken, the best rank first", size=13, fill=theme.soft)
    symbols = [bytes([byte]) for byte in longest]
    y += 12
    for merge in [None, *traced["merges"]]:
        if merge is not None:
            at = merge["position"]
            symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
            drawing.text(744, y + 21, f"rank {merge['rank']:,}", anchor="end", size=12, fill=theme.soft)
        _tokens(drawing, 16, y, symbols, theme.fills[1])
        y += 40
    return drawing.svg(y + 4)


def _tokens(drawing: Drawing, x: float, y: float, tokens: list[bytes], fill: str) -> float:
    """Draw a row of boxes, one for each token. Returns the right end of the last one."""
    for token in tokens:
        shown = token.decode().replace(" ", "\u00b7")
        width = 18 + 9.2 * len(shown)
        drawing.box(x, y, width, 30, fill, drawing.theme.soft)
        drawing.text(
            x + width / 2, y + 20, shown, anchor="middle", font_family="ui-monospace, 'DejaVu Sans Mono', monospace"
        )
        x += width + 6
    return x - 6


def cartridge(theme: Theme) -> str:
    """Draw the sections of a packaged profile's cartridge, in proportion to their sizes."""
    from crayon_hf import _core, profiles

    path = Path(profiles.__file__).parent / "lite.dat"
    sections = _core.cartridge_sections(str(path))
    sections = sorted(sections, key=lambda section: -section["size"])
    most, rest = sections[:9], sections[9:]
    rows = [(section["name"], section["size"]) for section in most]
    rows.append((f"{len(rest)} smaller ones", sum(section["size"] for section in rest)))
    drawing = Drawing(760, "The sections of the cartridge of the profile lite", theme)
    whole = path.stat().st_size / 1e6
    drawing.text(16, 28, f"lite.dat: {whole:.1f} MB, read in place", size=16, font_weight="600")
    for number, (name, size) in enumerate(rows):
        y = 60 + 26 * number
        drawing.text(196, y, name, anchor="end", size=12)
        drawing.line(210, y - 4, 210 + 440 * size / rows[0][1], y - 4, theme.mark, 12)
        drawing.text(744, y, f"{size / 1e6:.2f} MB" if size >= 5000 else f"{size} B", anchor="end", size=12)
    return drawing.svg(60 + 26 * len(rows))


def inspect(theme: Theme) -> str:
    """Output of the inspector in a terminal."""
    return terminal(["inspect", "Reinstall na\u00efve caf\u00e9s, \u2603", "--mode", "both"], theme)


def layers(theme: Theme) -> str:
    """The folders of the package, and their imports."""
    return layer_pictures.draw(layer_pictures.package(), "The folders of the package, users above", theme)


def engine(theme: Theme) -> str:
    """The folders of the engine, and their includes."""
    return layer_pictures.draw(layer_pictures.engine(), "The folders of the engine, users above", theme)


PICTURES: dict[str, Callable[[Theme], str]] = {
    "speed": speed,
    "way": way,
    "merges": merges,
    "cartridge": cartridge,
    "inspect": inspect,
    "layers": layers,
    "engine": engine,
}


def drawn() -> Iterator[tuple[Path, str]]:
    """Yield the path and the SVG text of each drawing."""
    for name, draw in PICTURES.items():
        yield TO / f"{name}.svg", draw(LIGHT)
        yield TO / f"{name}-dark.svg", draw(DARK)


def main() -> int:
    TO.mkdir(exist_ok=True)
    for path, svg in drawn():
        path.write_text(svg, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(svg) / 1000:.1f} kB")
    for path in screenshots.take(TO):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.1f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

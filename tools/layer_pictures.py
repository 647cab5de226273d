"""Draws the folders of the package and of the engine, with lines for imports and includes.

Boxes are folders. A box is above all boxes that it needs; a line that other lines imply is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from check_includes import LAYERS, folder_of, target_of
from drawing import Drawing, Theme

Graph = dict[str, set[str]]
"""Each folder with the folders that it needs directly."""

ROOT = Path(__file__).resolve().parents[1]
ASIDE = ("gpu_simulator", "device_module")
"""Folders of cpp that are not part of the extension `_core`."""
MODULES_OF_TOKENIZERS = (
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "tools",
    "trainers",
)


def package() -> Graph:
    """The imports between the folders and modules of `crayon_hf`, without imports for types."""
    graph: Graph = {}
    for path in sorted((ROOT / "crayon_hf").rglob("*.py")):
        inside = path.relative_to(ROOT / "crayon_hf")
        user = _named(inside.parts[0].removesuffix(".py"))
        if user in ("__init__", "__main__", "profiles"):
            continue
        needed = {_named(name) for name in _imports(ast.parse(path.read_text(encoding="utf-8")))}
        graph.setdefault(user, set()).update(needed - {user})
    known = set(graph)
    return {user: needed & known for user, needed in graph.items()}


def engine() -> Graph:
    """The includes between the folders of `cpp`."""
    cpp = ROOT / "cpp"
    graph: Graph = {name: set() for name in LAYERS if name not in ASIDE}
    for path in sorted(file for file in cpp.rglob("*") if file.suffix in (".h", ".cpp")):
        inside = path.relative_to(cpp)
        folder = folder_of(inside)
        if folder in graph:
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                target = target_of(name, inside, cpp)
                needed = target and folder_of(target)
                if needed in graph and needed != folder:
                    graph[folder].add(needed)
    return graph


def draw(graph: Graph, title: str, theme: Theme) -> str:
    """Return a drawing: rows of boxes, one for each folder, and lines down to the folders that each needs."""
    lines, rows = _reduced(graph), _rows(graph)
    drawing = Drawing(760, title, theme)
    centre: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        widths = [7.2 * len(name) + 16 for name in row]
        gap = (760 - sum(widths)) / (len(row) + 1)
        x = gap
        for name, width in zip(row, widths, strict=True):
            centre[name] = x + width / 2, 16 + 52 * number
            x += width + gap
    for user, needed in sorted(lines.items()):
        for name in sorted(needed):
            (x, y), (to_x, to_y) = centre[user], centre[name]
            drawing.line(x, y + 26, to_x, to_y, theme.soft, 0.8)
    for name, (x, y) in centre.items():
        width = 7.2 * len(name) + 16
        drawing.box(x - width / 2, y, width, 26, theme.fills[0], theme.soft)
        drawing.text(x, y + 17, name, anchor="middle", size=12)
    return drawing.svg(52 * len(rows) + 8)


def _named(module: str) -> str:
    return "modules of tokenizers" if module in MODULES_OF_TOKENIZERS else module


def _imports(node: ast.AST) -> Iterator[str]:
    """The parts of `crayon_hf` that a module imports when it runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module and not child.level:
            parts = child.module.split(".")
            if parts[0] == "crayon_hf":
                yield from [parts[1]] if parts[1:] else (alias.name for alias in child.names)
        elif isinstance(child, ast.Import):
            yield from (alias.name.split(".")[1] for alias in child.names if alias.name.startswith("crayon_hf."))
        yield from _imports(child)


def _reduced(graph: Graph) -> Graph:
    """The transitive reduction: the graph without lines that a path of other lines implies."""
    below: Graph = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = set().union(*({needed} | reach(needed) for needed in graph[name]))
        return below[name]

    return {user: needed - set().union(*(reach(name) for name in needed)) for user, needed in graph.items()}


def _rows(graph: Graph) -> list[list[str]]:
    """Return the rows of boxes, users first. A box is as many rows from the bottom as its longest path downwards."""
    height: dict[str, int] = {}

    def high(name: str) -> int:
        if name not in height:
            height[name] = max((high(needed) + 1 for needed in graph[name]), default=0)
        return height[name]

    rows: list[list[str]] = [[] for _ in range(max(map(high, graph)) + 1)]
    for name in sorted(graph):
        rows[-1 - high(name)].append(name)
    place: dict[str, float] = {}
    for row in rows:
        above = {name: [place[user] for user in place if name in graph[user]] for name in row}
        row.sort(key=lambda name: sum(above[name]) / len(above[name]) if above[name] else 0.5)
        place.update({name: (at + 0.5) / len(row) for at, name in enumerate(row)})
    return rows

"""Boundaries in Markdown and code: headings, blocks, and nodes of a syntax tree.

A text is parsed whole. Deeper elements are finer kinds of boundaries, so cuts are as shallow as possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from crayon_hf.budgets.finders import Finder, Fixed
from crayon_hf.util.extras import needed

_LINE_END = re.compile(r"\r\n|[\n\r]")
_HEADINGS = 6
_BODIES = ("body", "consequence")
"""The grammars' names of fields that belong to the text before them, as a function's body belongs to its head."""
_LEADS = ("attribute_item", "decorator", "modifiers", "template_parameter_list")
"""The grammars' names of nodes that belong to the next node."""
_DEEPEST = 16
"""Deeper nodes of a syntax tree count as this deep, because each depth repeats the list of all lesser depths."""


def markdown() -> Callable[[str], list[Finder]]:
    """Finders for Markdown, coarsest first: sections by level, then blocks (paragraphs, lists, tables, fenced code),
    then their parts (items, rows, lines of code)."""
    with needed("finding the parts of Markdown", "chunks"):
        from markdown_it import MarkdownIt
    parser = MarkdownIt("commonmark").enable("table")

    def found(text: str) -> list[Finder]:
        lines = _lines(text)
        places: dict[int, list[int]] = {}
        behind_heading = -1
        """The line after the last heading. A cut before that line would separate the heading from its text."""
        after = False
        for token in parser.parse(text):
            if token.type == "heading_close":
                after = True
            if token.map is None or token.nesting < 0:
                continue
            first, end = token.map
            if after and token.type != "inline":
                behind_heading, after = first, False
            is_section = token.type == "heading_open" and token.level == 0
            depth = int(token.tag[1:]) - _HEADINGS if is_section else token.level + 1
            if first != behind_heading:
                places.setdefault(depth, []).append(lines[first])
            if token.type in ("fence", "code_block"):
                places.setdefault(token.level + 2, []).extend(lines[first + 1 : end])
        return _by_depth(text, places)

    return found


def code(language: str) -> Callable[[str], list[Finder]]:
    """Finders for the nodes of a syntax tree, from the top down: functions and classes, then methods, and so on, to
    statements and elements of lists.

    `language` is the name of a tree-sitter package: ``"python"`` for tree-sitter-python.
    """
    what = f"finding the parts of {language}"
    with needed(what, "chunks"):
        from tree_sitter import Language, Parser
    package = f"tree-sitter-{language.replace('_', '-')}"
    with needed(what, "", package):
        module: Any = import_module(f"tree_sitter_{language.replace('-', '_')}")
    grammar = getattr(module, "language", None) or getattr(module, f"language_{language}")
    parser = Parser(Language(grammar()))

    def found(text: str) -> list[Finder]:
        data = text.encode()
        places: dict[int, list[int]] = {}
        for depth, place in _nodes(parser.parse(data), data):
            places.setdefault(min(depth, _DEEPEST), []).append(place)
        if len(data) != len(text):
            places = {depth: _characters(data, found) for depth, found in places.items()}
        return _by_depth(text, places)

    return found


def _by_depth(text: str, places: dict[int, list[int]]) -> list[Finder]:
    """Return a finder for each depth. Its boundaries are the places of that depth and of all lesser depths."""
    finders: list[Finder] = []
    known: list[int] = []
    for depth in sorted(places):
        known += places[depth]
        finders.append(Fixed(text, known))
    return finders


def _lines(text: str) -> list[int]:
    """The starts of the lines, by Markdown's line ends, and the end of the text."""
    return [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]


def _nodes(tree: Any, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (depth, start in bytes) of nodes where the text may be cut.

    Such a node has a sibling before it, and begins a line or follows a comma or a semicolon. Nodes that belong to the
    text before them are excluded: the first child of a node, a body, a node after its decorator or comment.
    """
    cursor = tree.walk()
    before: list[_Before] = [_Before()]
    while True:
        node, last = cursor.node, before[-1]
        if not node.is_named:
            last.token = node.type
        else:
            start, begins_line = _of_line(data, node.start_byte)
            is_separate = begins_line or last.token in (",", ";")
            is_parted = cursor.field_name in _BODIES or last.is_lead or last.comment == node.start_point[0] - 1
            if last.has_node and is_separate and not is_parted:
                yield len(before), start
            last.has_node, last.token, last.is_lead = True, "", node.type in _LEADS
            if "comment" in node.type:
                last.comment = node.end_point[0]
        if cursor.goto_first_child():
            before.append(_Before())
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            before.pop()


@dataclass
class _Before:
    """The state of the siblings before a node."""

    has_node: bool = False
    token: str = ""
    """The type of the token after the last node, if any."""
    is_lead: bool = False
    """Whether the last node belongs to the next."""
    comment: int = -2
    """The line where the last comment ends."""


def _characters(data: bytes, places: list[int]) -> list[int]:
    """Convert offsets in bytes of UTF-8 to offsets in characters."""
    import numpy as np

    begins = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)
    characters: list[int] = np.searchsorted(begins, places).tolist()
    return characters


def _of_line(data: bytes, place: int) -> tuple[int, bool]:
    """Return the start of the line and True if only blanks precede `place` in the line, or else `place` and False."""
    start = place
    while start and data[start - 1] in b" \t":
        start -= 1
    begins = start == 0 or data[start - 1] in b"\r\n"
    return (start if begins else place), begins

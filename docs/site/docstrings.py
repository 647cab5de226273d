"""Sphinx: docstrings as the project writes them."""

from __future__ import annotations

import re
from typing import Any


def link_pages(app: Any, what: str, name: str, of: object, options: Any, lines: list[str]) -> None:
    """``docs/corpora.md has examples``: a link, by the page's title."""
    lines[:] = [re.sub(r"`*\bdocs/([\w/-]+)\.md`*", r":doc:`/docs/\1`", line) for line in lines]


def keep_colons(app: Any, what: str, name: str, of: object, options: Any, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon, in the first line of a property, for a type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # an empty comment


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # napoleon has 500
    app.connect("autodoc-process-docstring", link_pages)
    return {"parallel_read_safe": True}

"""A Sphinx extension for the conventions of this project's docstrings."""

from __future__ import annotations

import re
from typing import Any


def link_pages(app: Any, what: str, name: str, of: object, options: Any, lines: list[str]) -> None:
    """Turn the name of a page, as in ``docs/corpora.md has examples``, into a link with the page's title."""
    lines[:] = [re.sub(r"`*\bdocs/([\w/-]+)\.md`*", r":doc:`/docs/\1`", line) for line in lines]


def keep_colons(app: Any, what: str, name: str, of: object, options: Any, lines: list[str]) -> None:
    """Keep colons: Napoleon takes the text before one, in the first line of a property, for a type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # an empty comment


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # napoleon has 500
    app.connect("autodoc-process-docstring", link_pages)
    return {"parallel_read_safe": True}

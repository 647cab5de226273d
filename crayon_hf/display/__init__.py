"""Show tokens in a terminal, in a notebook, or on a page."""

from __future__ import annotations

from typing import Any


def encoding_html(encoding: Any) -> str:
    """Return the tokens of an `Encoding` as HTML for notebooks: in colour, with ids and offsets on hover."""
    from crayon_hf.display.html import of_encoding

    return of_encoding(encoding)

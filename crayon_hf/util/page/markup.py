"""What the parts of a page share: escaped text, marks, elements that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .words import visible

__all__ = ["MARKS", "code", "literal", "mark", "section", "text"]

MARKS = (
    '<svg class="sprite" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
    '<symbol id="mark-yes" viewBox="0 0 16 16"><path d="M3.2 8.6 6.6 12l6.2-7.6"/></symbol>'
    '<symbol id="mark-no" viewBox="0 0 16 16"><path d="M4 4l8 8M12 4l-8 8"/></symbol>'
    '<symbol id="mark-unknown" viewBox="0 0 16 16"><path d="M8 3.4v5.4M8 12.4v.1"/></symbol>'
    "</defs></svg>"
)
"""Drawn once; `mark` refers to them."""


def text(value: str, keep: str = "") -> str:
    """Foreign text, safe in an element and in a quoted attribute; what cannot be seen is spelled out (but ``keep``)."""
    return escape(visible(value, keep), quote=True)


def code(value: str) -> str:
    """The same in an element of its own, which may break anywhere."""
    return f"<code>{text(value)}</code>"


def literal(value: str) -> str:
    """Text whose spaces matter: each is marked by the style sheet, and is a plain space when it is copied."""
    if not value:
        return "<i>the empty text</i>"
    spaced = text(value).replace(" ", "<span> </span>")
    return f'<code class="literal">{spaced}</code>'


def mark(kind: str) -> str:
    """A tick (``yes``), a cross (``no``) or an exclamation mark (``unknown``). It stands beside words that say so."""
    return f'<svg class="mark {kind}" aria-hidden="true" focusable="false"><use href="#mark-{kind}"/></svg>'


def section(name: str, title: str, parts: Sequence[str], note: str = "") -> str:
    """A landmark with a heading of level two; ``note`` is HTML."""
    lead = f'\n<p class="note">{note}</p>' if note else ""
    body = "\n".join(parts)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{text(title)}</h2>{lead}\n'
        f"{body}\n</section>"
    )

"""Tokens as HTML, in colours for light and dark themes, each with its id and offsets on hover.

A fragment contains its style, and needs no script, font or network. All text is escaped, and invisible characters are
spelled out. A long text is truncated, with a note of the number of tokens left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from crayon_hf.display.cells import Cell, cells_of_bytes, cells_of_text, hexadecimal, plain
from crayon_hf.display.tokens import Token
from crayon_hf.util.byte_level import BYTE_LEVEL

MOST_TOKENS = 1000
"""The most tokens that are shown."""

MOST_CELLS = 120
"""The most characters of one token that are shown."""
MOST_BYTES = 16
_GROUNDS = 6

PALETTE = {
    "c0": ("#bfdcf7", "#1d4468"),
    "c1": ("#f7dfb0", "#5f4510"),
    "c2": ("#c3e8bd", "#245a2b"),
    "c3": ("#efcdee", "#5c2f5b"),
    "c4": ("#eeeaa4", "#55510f"),
    "c5": ("#d5d3f5", "#403d78"),
    "cs": ("#d3d3d3", "#4b4b4b"),
    "ink": ("#16181d", "#f3f4f6"),
    "mark": ("#6b3f0c", "#f6c272"),
}
"""The colours of tokens, light and dark: backgrounds (``cs`` of special tokens), text, and marks for invisible text."""

_GIVEN, _DARK = (";".join(f"--{name}:{colours[theme]}" for name, colours in PALETTE.items()) for theme in range(2))
STYLE = (
    f"\n.crayon-hf{{{_GIVEN};"
    + """font:14px/1.9 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;
overflow-wrap:anywhere;white-space:pre-wrap;margin:.3em 0;max-width:100%}
.crayon-hf b{font-weight:600}.crayon-hf i{font-style:normal;opacity:.7}
.crayon-hf span{color:var(--ink);border-radius:3px;padding:2px 0;unicode-bidi:isolate;cursor:default}
.crayon-hf span u{text-decoration:none;color:var(--mark)}
.crayon-hf .c0{background:var(--c0)}.crayon-hf .c1{background:var(--c1)}.crayon-hf .c2{background:var(--c2)}
.crayon-hf .c3{background:var(--c3)}.crayon-hf .c4{background:var(--c4)}.crayon-hf .c5{background:var(--c5)}
.crayon-hf .cs{background:var(--cs)}
.crayon-hf span:hover{outline:2px solid #2a7de1}
"""
)
# Notebooks tell their theme in different ways. A page follows the user's preference, except the classic notebook and
# its export by nbconvert, which are always light.
_LIGHT = "[data-jp-theme-light=true] *,.vscode-light *,#notebook-container *"
_DARK_STYLE = (
    f"@media (prefers-color-scheme:dark){{.crayon-hf:not({_LIGHT}){{{_DARK}}}}}\n"
    f"[data-jp-theme-light=false] .crayon-hf,.vscode-dark .crayon-hf,html[theme=dark] .crayon-hf{{{_DARK}}}\n"
)


def of_encoding(encoding: Any) -> str:
    """Render the tokens of an `Encoding`. It has no text, so byte-level spelling is decoded only if it is certain."""
    total, more = len(encoding), len(getattr(encoding, "overflowing", ()))
    rest = f", and {more} overflowing" if more else ""
    return _fragment(list(_tokens_of(encoding)), f"{_count(total)}{rest}", total)


def of_tokenizer(name: str, facts: Mapping[str, str], sample: Sequence[Token]) -> str:
    """Render the facts of a tokenizer, and a sample text in its tokens."""
    rows = " · ".join(f"<i>{escape(key)}</i> {escape(plain_text(value))}" for key, value in facts.items())
    shown = f"\n{''.join(_ranges(sample))}" if sample else ""
    return f'{_style()}<div class="crayon-hf"><b>{escape(plain_text(name))}</b>  {rows}{shown}</div>'


def _fragment(tokens: Sequence[Token], title: str, total: int) -> str:
    """Render a title and up to `MOST_TOKENS` of `total` tokens."""
    left = total - min(len(tokens), MOST_TOKENS)
    rest = f"<i> … and {left:,} more</i>" if left > 0 else ""
    body = "".join(_ranges(tokens))
    return f'{_style()}<div class="crayon-hf"><b>{escape(title)}</b>\n{body}{rest}</div>'


def plain_text(text: str) -> str:
    """Spell out the invisible characters of a text, except spaces."""
    return " ".join(map(plain, text.split(" ")))


def short_path(path: str) -> str:
    """Return the end of an absolute path, or a name on the Hub unchanged."""
    if not os.path.isabs(path):
        return path
    parent, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.basename(parent), name) if name.startswith("tokenizer.") else name


def _style() -> str:
    return f"<style>{STYLE}{_DARK_STYLE}</style>"


def _count(number: int) -> str:
    return f"{number:,} token{'' if number == 1 else 's'}"


def _ranges(tokens: Sequence[Token]) -> Iterator[str]:
    for number, token in enumerate(islice(tokens, MOST_TOKENS)):
        if token.gap:
            yield "\n" if "\n" in token.gap else " "
        special = token.is_added or token.is_inserted
        ground = "cs" if special else f"c{number % _GROUNDS}"
        yield f'<span class="{ground}" title="{_hover(token)}">{_text(token)}</span>'
        yield "<wbr>"


def _hover(token: Token) -> str:
    shown = plain(token.token[:MOST_CELLS]) + ("…" if len(token.token) > MOST_CELLS else "")
    lines = [f"id {token.id}", f"token {shown}"]
    if token.data:
        more = f" … ({len(token.data)})" if len(token.data) > MOST_BYTES else ""
        lines.append(f"bytes {hexadecimal(token.data[:MOST_BYTES])}{more}")
    lines.append("added around the text" if token.is_inserted else f"chars {token.start}-{token.end}")
    return escape("\n".join(lines)).replace("\n", "&#10;")


def _text(token: Token) -> str:
    cells = cells_of_bytes(token.shown) if isinstance(token.shown, bytes) else cells_of_text(token.shown)
    shown = list(islice(cells, MOST_CELLS + 1))
    text = "".join(map(_cell, shown[:MOST_CELLS]))
    text = (text + "<u>…</u>" if len(shown) > MOST_CELLS else text) or "<u>∅</u>"
    return f"{text}<u>{escape(plain(token.note))}</u>" if token.note else text


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return (f"<u>{text}</u>" if cell.is_mark else text) + ("<br>" if cell.ends_line else "")


# -- an Encoding


_BYTES = {chr(char): byte for byte, char in BYTE_LEVEL.items()}


def _tokens_of(encoding: Any) -> Iterator[Token]:
    rows = list(
        islice(
            zip(encoding.ids, encoding.tokens, encoding.offsets, encoding.special_tokens_mask, strict=True), MOST_TOKENS
        )
    )
    spelled = _is_byte_level([token for _, token, _, special in rows if not special])
    for id, token, (start, end), special in rows:
        data = token.encode("utf-8", "surrogatepass")
        shown: str | bytes = token
        if spelled and not special and all(char in _BYTES for char in token):
            shown = data = bytes(_BYTES[char] for char in token)
        yield Token(id, token, data, start, end, False, bool(special) and start == end, shown)


def _is_byte_level(tokens: Sequence[str]) -> bool:
    """Whether all characters are in the byte-level alphabet, and at least one differs from its byte, as Ġ does."""
    chars = set("".join(tokens))
    return all(char in _BYTES for char in chars) and any(_BYTES[char] != ord(char) for char in chars)

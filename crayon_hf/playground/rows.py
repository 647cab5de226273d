"""Tokens as JSON rows for the page's script, with invisible characters spelled out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from crayon_hf.display.cells import Cell, cells_of_bytes, cells_of_text, hexadecimal, plain
from crayon_hf.display.html import MOST_BYTES, MOST_CELLS
from crayon_hf.display.tokens import Token

Row = list[Any]
"""``[id, shown, token, bytes, start, end, kind, differs, gap]``.

``shown`` is a list with strings for text, ``[string]`` for marks, and 0 for line breaks. ``kind`` is "", "added" or
"inserted". ``gap`` is the white space before the token, shortened to one character, or "".
"""


def rows_of(tokens: Sequence[Token], differing: Sequence[bool]) -> list[Row]:
    """Return a row for each token; `differing` marks tokens that differ between columns."""
    return [_row(token, differs) for token, differs in zip(tokens, differing, strict=True)]


def _row(token: Token, differs: bool) -> Row:
    kind = "inserted" if token.is_inserted else "added" if token.is_added else ""
    gap = "" if not token.gap else "\n" if "\n" in token.gap else " "
    spelled = plain(token.token[:MOST_CELLS]) + "…" * (len(token.token) > MOST_CELLS)
    rest = f" … ({len(token.data)})" if len(token.data) > MOST_BYTES else ""
    written = hexadecimal(token.data[:MOST_BYTES]) + rest
    return [token.id, list(_shown(token)), spelled, written, token.start, token.end, kind, int(differs), gap]


def _shown(token: Token) -> Iterator[Any]:
    cells = cells_of_bytes(token.shown) if isinstance(token.shown, bytes) else cells_of_text(token.shown)
    first = list(islice(cells, MOST_CELLS + 1))
    for (is_mark, ends_line), run in groupby(first[:MOST_CELLS], key=_kind):
        text = "".join(cell.text for cell in run)
        if ends_line:
            for each in text:
                yield from ([each], 0)
        else:
            yield [text] if is_mark else text
    if not first:
        yield ["∅"]
    if len(first) > MOST_CELLS:
        yield ["…"]
    if token.note:
        yield [plain(token.note)]


def _kind(cell: Cell) -> tuple[bool, bool]:
    return cell.is_mark, cell.ends_line

"""The display of ``crayon-hf inspect``: coloured tokens, a table of them, and two tokenizations side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from crayon_hf.cli.colour import Paint, padded, shortened
from crayon_hf.display.cells import Cell, cells_of_bytes, cells_of_text, hexadecimal, plain, width_of
from crayon_hf.display.tokens import Difference, Token, Tokenization, places_of
from crayon_hf.util.wording import plural

_BORDER = "│"
_BYTES = "bytes"
_OPEN, _CLOSE = "⟨⟩"


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    title: str
    rows: Sequence[str]
    is_number: bool = False
    least: int | None = None
    """The minimum width; None for a column that is dropped in a narrow terminal."""
    codes: Sequence[str] = ()
    """The colour codes of each row."""

    @cached_property
    def width(self) -> int:
        """The width of the widest row."""
        return max(map(width_of, (self.title, *self.rows)))


class _Lines:
    """Lines of limited width, from coloured parts that are never split."""

    def __init__(self, write: Callable[[str], None], paint: Paint, width: int) -> None:
        self._write, self._paint, self._width = write, paint, width
        self._parts: list[tuple[str, str]] = []
        self._column = 0

    @property
    def is_empty(self) -> bool:
        """Whether the current line is empty."""
        return self._column == 0

    def add(self, text: str, width: int, codes: str = "") -> None:
        """Add a part to this line, or to the next if it does not fit."""
        if self._column + width > self._width:
            self.end()
        self._parts.append((codes, text))
        self._column += width

    def end(self) -> None:
        """Write the line, unless it is empty."""
        if self._parts:
            same = groupby(self._parts, key=lambda part: part[0])
            self._write("".join(self._paint.with_codes(codes, "".join(text for _, text in run)) for codes, run in same))
        self._parts, self._column = [], 0


class View:
    """Writes tokens for a terminal of some width."""

    def __init__(self, write: Callable[[str], None], paint: Paint, width: int, with_spelling: bool = False) -> None:
        """`with_spelling` adds a column with the vocabulary's spelling of each token."""
        self._write, self._paint, self._width, self._with_spelling = write, paint, width, with_spelling

    def show(
        self,
        data: bytes,
        tokenizations: Sequence[Tokenization],
        places: Sequence[Difference],
        *,
        is_text: bool,
        with_ids: bool,
        is_truncated: bool = False,
    ) -> None:
        """Write the text and the tables.

        Args:
            data: The text, or arbitrary bytes.
            tokenizations: One or two tokenizations of it.
            places: The differences between two tokenizations.
            is_text: Whether `data` is UTF-8 text.
            with_ids: Write ids after tokens instead of a table.
            is_truncated: Whether `data` is the beginning of a longer text.
        """
        unit = "chars" if is_text else "bytes"
        size = plural(len(data), "byte")
        size = f"{plural(len(data.decode()), 'character')}, {size}" if is_text else size
        agree = len(tokenizations) == 2 and not places
        for i, tokenization in enumerate(tokenizations[:1] if agree else tokenizations):
            name = " and ".join(each.name for each in tokenizations) if agree else tokenization.name
            count = f"{name}: {'the first ' if is_truncated else ''}{plural(len(tokenization.tokens), 'token')}"
            self._write(f"{self._paint.strong(count)} {self._paint.faint(f'({size})')}")
            self._text(tokenization.tokens, places_of(places, i), with_ids)
            if not with_ids or i + 1 < len(tokenizations):
                self._write("")
        if places:
            self._write(self._paint.alert(f"≠ they differ in {plural(len(places), 'place')}"))
        if with_ids:
            return
        if places:
            self._side_by_side(tokenizations, places, unit)
        elif tokenizations[0].tokens:
            tokens = tokenizations[0].tokens
            for line in self._table(self._columns(tokens, range(len(tokens)), unit), self._width):
                self._write(line.rstrip())

    # -- the text

    def _text(self, tokens: Sequence[Token], differing: set[int], with_ids: bool) -> None:
        lines = _Lines(self._write, self._paint, self._width)
        for number, token in enumerate(tokens):
            if number > 0 and not self._paint.enabled and not lines.is_empty:
                lines.add(_BORDER, 1)
            if token.gap:
                lines.add(" ", 1)
                if "\n" in token.gap:
                    lines.end()
            for cell in _cells(token):
                lines.add(cell.text, cell.width, self._codes(number, token, number in differing, cell.is_mark))
                if cell.ends_line:
                    lines.end()
            if token.note:
                note = plain(token.note)
                lines.add(note, width_of(note), self._paint.FAINT)
            if with_ids:
                id = f"{_OPEN}{token.id}{_CLOSE}"
                lines.add(id, len(id), self._paint.FAINT)
        lines.end()

    # -- tables

    def _table(self, columns: list[Column], width: int) -> Iterator[str]:
        """Yield the lines of a table, all of one width up to `width`."""
        shown = [(column, size) for column, size in zip(columns, _fit(columns, width), strict=True) if size > 0]
        titles = (padded(column.title, size, column.is_number) for column, size in shown)
        yield self._paint.faint("  ".join(titles))
        for row in range(len(columns[0].rows)):
            yield "  ".join(self._field(column, row, size) for column, size in shown)

    def _field(self, column: Column, row: int, size: int) -> str:
        if not column.codes:
            return padded(column.rows[row], size, column.is_number)
        text = shortened(column.rows[row], size)
        return self._paint.with_codes(column.codes[row], text) + " " * (size - width_of(text))

    def _side_by_side(self, tokenizations: Sequence[Tokenization], places: Sequence[Difference], unit: str) -> None:
        """Write two tables side by side, aligned where they agree, with blank rows where one has more tokens."""
        rows = list(_aligned(tokenizations, places))
        half = (self._width - 3) // 2
        tables = []
        for side, tokenization in enumerate(tokenizations):
            columns = self._columns(tokenization.tokens, [row[side] for row in rows], unit, places_of(places, side))
            size = _total(_fit(columns, half))
            tables.append([self._paint.strong(padded(tokenization.name, size)), *self._table(columns, half)])
        signs = [False, False, *(differs for _, _, differs in rows)]
        for ours, theirs, differs in zip(*tables, signs, strict=True):
            sign = self._paint.alert("≠") if differs else self._paint.faint(_BORDER)
            self._write(f"{ours} {sign} {theirs}".rstrip())

    def _columns(
        self, tokens: Sequence[Token], rows: Sequence[int | None], unit: str, differing: set[int] | None = None
    ) -> list[Column]:
        """Return the columns for the tokens at the indices `rows`; a None is a blank row.

        `differing` has the indices of tokens to mark, or is None in a table of the full width.
        """

        def cells(text_of: Callable[[Token], str]) -> list[str]:
            return ["" if row is None else text_of(tokens[row]) for row in rows]

        codes = ["" if row is None else self._codes(row, tokens[row], row in (differing or ())) for row in rows]
        spelled = [Column("token", cells(lambda token: plain(token.token)), least=8)]
        return [
            Column("id", cells(lambda token: str(token.id)), is_number=True),
            Column("text", cells(lambda token: plain(token.shown) + plain(token.note)), least=8, codes=codes),
            *(spelled if self._with_spelling else ()),
            Column(_BYTES, cells(lambda token: _listed(token.data)), least=8 if differing is None else None),
            Column(unit, cells(_place)),
        ]

    def _codes(self, number: int, token: Token, differs: bool, is_mark: bool = False) -> str:
        return self._paint.token_codes(number, is_mark, token.is_added or token.is_inserted, differs)


def _cells(token: Token) -> Iterator[Cell]:
    return cells_of_bytes(token.shown) if isinstance(token.shown, bytes) else cells_of_text(token.shown)


def _listed(data: bytes) -> str:
    return hexadecimal(data) if len(data) <= 16 else f"{hexadecimal(data[:14])} … ({len(data)})"


def _place(token: Token) -> str:
    return "-" if token.is_inserted else f"{token.start}-{token.end}"


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (sum(size > 0 for size in widths) - 1)


def _fit(columns: list[Column], width: int) -> list[int]:
    """Return the widths of the columns, 0 for a dropped one. Columns shrink first; then the last ones are dropped."""
    without_bytes = [column for column in columns if column.title != _BYTES]
    for kept in (columns, without_bytes, columns[:-2], columns[:2]):
        widths = [column.width if column in kept else 0 for column in columns]
        for i in reversed(range(len(columns))):
            least, over = columns[i].least, _total(widths) - width
            if over > 0 and widths[i] > 0 and least is not None:
                widths[i] = min(widths[i], max(least, widths[i] - over))
        if _total(widths) <= width:
            return widths
    widths[1] = max(1, width - widths[0] - 2)
    return widths


def _aligned(
    tokenizations: Sequence[Tokenization], places: Sequence[Difference]
) -> Iterator[tuple[int | None, int | None, bool]]:
    """Yield rows of two tables: the index of a token in each, or None for a blank row, and whether they differ."""
    i = j = 0
    end = Difference(0, 0, ((len(tokenizations[0].tokens),) * 2, (len(tokenizations[1].tokens),) * 2))
    for place in [*places, end]:
        (ours, our_end), (theirs, their_end) = place.tokens
        while i < ours:
            yield i, j, False
            i, j = i + 1, j + 1
        assert j == theirs
        for step in range(max(our_end - ours, their_end - theirs)):
            left, right = ours + step, theirs + step
            yield left if left < our_end else None, right if right < their_end else None, True
        i, j = our_end, their_end

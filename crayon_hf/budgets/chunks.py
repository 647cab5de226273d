"""Texts cut into chunks of at most so many tokens, at boundaries where there are some.

A chunk ends at the last boundary of the coarsest kind that it reaches; where it reaches none, the text up to the next
one is too long, and the next finer kind is asked; in the end a chunk ends with a token. What a chunk repeats of the one
before begins at the first boundary of the coarsest kind that is close enough and has more behind it than white space.
It is less where the first new piece of the chunk would not fit beside it: no piece is cut for the sake of what is
repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf.budgets.boundaries import Boundaries, levels, need_whole_texts
from crayon_hf.budgets.calls import budget
from crayon_hf.budgets.finders import Finder
from crayon_hf.budgets.holders import engine_of
from crayon_hf.budgets.near_index import NearIndex
from crayon_hf.util import validation

if TYPE_CHECKING:
    from crayon_hf.budgets.boundaries import Level


class Chunk(NamedTuple):
    """A part of a text, where it is, and its ids.

    docs/chunking.md has examples.
    """

    text: str
    start: int
    """Where it begins, in characters of the text."""
    end: int
    byte_start: int
    """The same in bytes of UTF-8."""
    byte_end: int
    ids: list[int]


LEAST_PART, PART_OF_A_TOKEN = 4096, 16
"""How many characters are indexed at a time, at least, and for each token of a chunk."""


def split_text(
    tokenizer: Any,
    text: str,
    max_tokens: int,
    overlap: int = 0,
    boundaries: Boundaries = "paragraph",
    *,
    add_special_tokens: bool = False,
    strip: bool = False,
) -> list[Chunk]:
    """Split a text into chunks of at most `max_tokens` tokens: see `Tokenizer.split_text`.

    docs/chunking.md has examples.
    """
    return Splitter(tokenizer, max_tokens, overlap, boundaries, add_special_tokens, strip).split(text)


def split_batch(
    tokenizer: Any,
    texts: Sequence[str],
    max_tokens: int,
    overlap: int = 0,
    boundaries: Boundaries = "paragraph",
    *,
    add_special_tokens: bool = False,
    strip: bool = False,
) -> list[list[Chunk]]:
    """`split_text` of each of many texts.

    docs/chunking.md has examples.
    """
    validation.check_list(texts)
    splitter = Splitter(tokenizer, max_tokens, overlap, boundaries, add_special_tokens, strip)
    return [splitter.split(text, f"text {i}") for i, text in enumerate(texts)]


class Splitter:
    """How texts are split: the arguments of `split_text`, checked."""

    def __init__(
        self,
        tokenizer: Any,
        max_tokens: int,
        overlap: int = 0,
        boundaries: Boundaries = "paragraph",
        add_special_tokens: bool = False,
        strip: bool = False,
    ) -> None:
        validation.check_flags(add_special_tokens=add_special_tokens, strip=strip)
        self._engine, self._as_text = engine_of(tokenizer)
        self._special = add_special_tokens
        added = self._engine.num_special_tokens_to_add(False) if add_special_tokens else 0
        self.room = budget(max_tokens, "max_tokens") - added
        self.overlap = budget(overlap, "overlap")
        if self.room < 1:
            beside = f": one beside the {added} special tokens around a text" if added else ""
            raise ValueError(f"max_tokens is {max_tokens}, expected at least {added + 1}{beside}")
        if self.overlap >= self.room:
            raise ValueError(f"overlap is {overlap}, expected fewer than the {self.room} tokens of a chunk")
        self.needs_whole = need_whole_texts(boundaries)
        self.levels: list[Level] = levels(boundaries)
        self._strip = strip

    def split(self, text: str, what: str = "text") -> list[Chunk]:
        """All chunks of a text, which errors call `what`."""
        refused = validation.refusal(text, False, what)  # of all of it, as it is looked at part by part
        if refused is not None:
            raise refused
        window = self.window(text)
        chunks: list[Chunk] = []
        position = Position()
        for start, end in window.spans():
            position = position.moved(text, start, end)
            chunks += self.chunk(window, start, end, position)
        return chunks

    def window(self, text: str) -> Window:
        """A text, or a part of one, that chunks are cut from."""
        index = NearIndex(self._engine, text, self._as_text, max(LEAST_PART, PART_OF_A_TOKEN * self.room))
        found = [finder for level in self.levels for finder in level(text)]
        return Window(text, index, found, self.room, self.overlap)

    def chunk(self, window: Window, start: int, end: int, position: Position) -> list[Chunk]:
        """The chunk of these characters of a window; none where nothing is left of it."""
        if self._strip:
            within = window.stripped(start, end)
            position = position.within(window.text, start, end, *within)
            start, end = within
            if start == end:
                return []
        part = window.text[start:end]
        ids = self._engine.encode_ids(part, True, self._as_text) if self._special else window.index.ids(start, end)
        return [Chunk(part, *position, ids)]


class Position(NamedTuple):
    """Where a chunk is in the whole text."""

    start: int = 0
    end: int = 0
    byte_start: int = 0
    byte_end: int = 0

    def moved(self, text: str, start: int, end: int, base: int = 0) -> Position:
        """Of the next chunk, ``text[start:end]``; `base` is where `text` begins in the whole text."""
        start_byte = self.byte_end - _bytes(text[start : self.end - base])
        end_byte = self.byte_end + _bytes(text[self.end - base : end])
        return Position(base + start, base + end, start_byte, end_byte)

    def within(self, text: str, start: int, end: int, first: int, last: int) -> Position:
        """Of ``text[first:last]``, where ``text[start:end]`` is here."""
        byte_start = self.byte_start + _bytes(text[start:first])
        byte_end = self.byte_end - _bytes(text[last:end])
        return Position(self.start + first - start, self.end + last - end, byte_start, byte_end)


class Window:
    """A text with what is known of its tokens and its boundaries."""

    def __init__(self, text: str, index: NearIndex, finders: list[Finder], room: int, overlap: int) -> None:
        self.text = text
        self.index = index
        self._finders = finders
        self._room = room
        self._overlap = overlap

    def spans(self) -> Iterator[tuple[int, int]]:
        """From where to where the chunks are, of the whole text."""
        start = end = 0
        while end < len(self.text):
            start, end = self.next_span(start, end)
            yield start, end

    def next_span(self, start: int, end: int) -> tuple[int, int]:
        """The chunk behind the one from `start` to `end`."""
        self.index.hold(start)
        reach = self.index.longest(end, self._room)
        begin, piece = end, 0
        if self._overlap and start < end:
            piece = self._first_piece(end, reach)
            begin = self._begin(start, end, piece)
            if begin < end:
                reach = max(self.index.longest(begin, self._room), piece)
        if (found := self._end(begin, end, reach)) is None and begin < end:
            begin, found = end, self._end(end, end, self.index.longest(end, self._room))
        if found is None:
            needed = self.index.count(end, end + 1)
            raise ValueError(
                f"the character {self.text[end]!r} alone is {needed} tokens, and a chunk has room for {self._room}"
            )
        return begin, found

    def reach(self, start: int) -> int:
        """How far a chunk that begins here can go."""
        return self.index.longest(start, self._room)

    def stripped(self, start: int, end: int) -> tuple[int, int]:
        """The chunk without white space around it, unless it has more tokens without."""
        part = self.text[start:end]
        first = end - len(part.lstrip())
        last = max(first, start + len(part.rstrip()))
        if first < last and (first, last) != (start, end) and self.index.count(first, last) > self._room:
            return start, end
        return first, last

    def _end(self, begin: int, done: int, reach: int) -> int | None:
        """Where a chunk from `begin` ends, behind `done`, where it fits up to `reach`; None where it does not."""
        for finder in self._finders:
            place = finder.last(done, reach)
            while place is not None and place != reach and self.index.count(begin, place) > self._room:
                place = finder.last(done, place - 1)
            if place is not None:
                return place
        if reach > done:
            return reach
        # Tokens that are the first of the text may be others of it alone; a character is the least that is cut off.
        return done + 1 if self.index.count(begin, done + 1) <= self._room else None

    def _first_piece(self, start: int, reach: int) -> int:
        """The end of the first piece of a chunk that begins at `start` and goes up to `reach` at most."""
        for finder in self._finders:
            place = finder.first(start + 1, reach + 1)
            if place is not None:
                return place
        return start + 1

    def _begin(self, start: int, end: int, piece: int) -> int:
        """Where the chunk behind the one from `start` to `end` begins, whose first piece ends at `piece`."""
        least = max(self.index.longest_before(end, self._overlap), self.index.longest_before(piece, self._room))
        least = max(least, start + 1)
        for finder in self._finders:
            place = finder.first(least, end)
            while place is not None and not self.text[place:end].isspace():
                if self._can_begin(place, end, piece):
                    return place
                place = finder.first(place + 1, end)
        return least if least < end and self._can_begin(least, end, piece) else end

    def _can_begin(self, place: int, end: int, piece: int) -> bool:
        return self.index.count(place, end) <= self._overlap and self.index.count(place, piece) <= self._room


def _bytes(part: str) -> int:
    return len(part) if part.isascii() else len(part.encode())

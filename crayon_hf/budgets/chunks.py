"""Texts cut into chunks of at most so many tokens, at boundaries where there are some.

A chunk ends at the last boundary of the coarsest kind that it reaches; where it reaches none, the text up to the next
one is too long, and the next finer kind is asked; in the end a chunk ends with a token. What a chunk repeats of the one
before begins at the first boundary of the coarsest kind that is close enough and has more behind it than white space.
It is less where the first new piece of the chunk would not fit beside it: no piece is cut for the sake of what is
repeated.

With `strip` the chunk's new part begins behind the white space, and all that is counted is without white space at its
ends. So every chunk has something that the one before has not, and begins behind its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_NO_SPACE = re.compile(r"\S")


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
            chunks.append(self.chunk(window, start, end, position))
        return chunks

    def window(self, text: str) -> Window:
        """A text, or a part of one, that chunks are cut from."""
        index = NearIndex(self._engine, text, self._as_text, max(LEAST_PART, PART_OF_A_TOKEN * self.room))
        found = [finder for level in self.levels for finder in level(text)]
        return Window(text, index, found, self.room, self.overlap, self._strip)

    def chunk(self, window: Window, start: int, end: int, position: Position) -> Chunk:
        """The chunk of these characters of a window."""
        part = window.text[start:end]
        ids = self._engine.encode_ids(part, True, self._as_text) if self._special else window.index.ids(start, end)
        return Chunk(part, *position, ids)


class Position(NamedTuple):
    """Where a chunk is in the whole text."""

    start: int = 0
    end: int = 0
    byte_start: int = 0
    byte_end: int = 0

    def moved(self, text: str, start: int, end: int, base: int = 0) -> Position:
        """Of the next chunk, ``text[start:end]``; `base` is where `text` begins in the whole text."""
        before = self.end - base
        start_byte = self.byte_end + _bytes(text[before:start]) - _bytes(text[start:before])
        end_byte = self.byte_end + _bytes(text[before:end])
        return Position(base + start, base + end, start_byte, end_byte)


class Window:
    """A text with what is known of its tokens and its boundaries."""

    def __init__(
        self, text: str, index: NearIndex, finders: list[Finder], room: int, overlap: int, strip: bool
    ) -> None:
        self.text = text
        self.index = index
        self._finders = finders
        self._room = room
        self._overlap = overlap
        self._strip = strip

    def spans(self) -> Iterator[tuple[int, int]]:
        """From where to where the chunks are, of the whole text."""
        start = end = 0
        while self.next_part(end) < len(self.text):
            start, end = self.next_span(start, end)
            yield start, end

    def next_part(self, end: int) -> int:
        """Where what is new in the chunk behind `end` begins."""
        if not self._strip:
            return end
        found = _NO_SPACE.search(self.text, end)
        return len(self.text) if found is None else found.start()

    def next_span(self, start: int, end: int) -> tuple[int, int]:
        """The chunk behind the one from `start` to `end`."""
        self.index.hold(start)
        new = self.next_part(end)
        reach = self.index.longest(new, self._room)
        begin, piece = new, 0
        if self._overlap and start < end:
            piece = self._first_piece(new, reach)
            repeated = self._begin(start, end, piece)
            if repeated < end:
                begin, reach = repeated, max(self.index.longest(repeated, self._room), piece)
        if (found := self._end(begin, new, reach)) is None and begin < new:
            begin, found = new, self._end(new, new, self.index.longest(new, self._room))
        if found is None:
            needed = self.index.count(new, new + 1)
            raise ValueError(
                f"the character {self.text[new]!r} alone is {needed} tokens, and a chunk has room for {self._room}"
            )
        return begin, found

    def reach(self, start: int) -> int:
        """How far a chunk that begins here can go, and the white space behind it that would be stripped."""
        return self.next_part(self.index.longest(start, self._room))

    def _end(self, begin: int, done: int, reach: int) -> int | None:
        """Where a chunk from `begin` ends, behind `done`, where it fits up to `reach`; None where it does not."""
        for finder in self._finders:
            place = finder.last(done, self.next_part(reach))
            while place is not None:
                end = self._stripped(place)
                if end == reach or self.index.count(begin, end) <= self._room:
                    return end
                place = finder.last(done, place - 1)
        place = reach
        while place > done:
            end = self._stripped(place)
            if end == reach or self.index.count(begin, end) <= self._room:
                return end
            place = end - 1
        # Tokens that are the first of the text may be others of it alone; a character is the least that is cut off.
        return done + 1 if self.index.count(begin, done + 1) <= self._room else None

    def _stripped(self, end: int) -> int:
        """The end of a part without the white space before it."""
        while self._strip and self.text[end - 1].isspace():
            end -= 1
        return end

    def _first_piece(self, start: int, reach: int) -> int:
        """The end of the first piece of a chunk that begins at `start` and goes up to `reach` at most."""
        for finder in self._finders:
            place = finder.first(start + 1, self.next_part(reach) + 1)
            if place is not None:
                return self._stripped(place)
        return start + 1

    def _begin(self, start: int, end: int, piece: int) -> int:
        """Where the chunk behind the one from `start` to `end` begins, whose first piece ends at `piece`."""
        least = max(self.index.longest_before(end, self._overlap), self.index.longest_before(piece, self._room))
        least = max(least, start + 1)
        for finder in self._finders:
            place = finder.first(least, end)
            while place is not None and not self.text[place:end].isspace():
                if self._can_begin(place := self.next_part(place), end, piece):
                    return place
                place = finder.first(place + 1, end)
        least = self.next_part(least)
        return least if least < end and self._can_begin(least, end, piece) else end

    def _can_begin(self, place: int, end: int, piece: int) -> bool:
        return self.index.count(place, end) <= self._overlap and self.index.count(place, piece) <= self._room


def _bytes(part: str) -> int:
    return len(part) if part.isascii() else len(part.encode())

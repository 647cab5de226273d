"""Split texts into chunks of a limited number of tokens, at boundaries where possible.

A chunk ends at the last boundary of the coarsest kind that the token limit allows. If that kind has none, the next
finer kind is tried, and finally the end of a token.

An overlap is text that a chunk repeats from the chunk before it. It begins at the first boundary of the coarsest kind
that keeps the overlap within its token limit, with more than white space. If no kind has one, it begins at a token. The
overlap is shortened if the new text, up to the first boundary in it, would not fit into the chunk otherwise.

With `strip` the new text of a chunk begins after white space, and white space at the ends of a chunk does not count.
So each chunk has text that the chunk before it lacks, and begins after the start of that chunk.
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
    """A chunk of a text: its text, its place, and its ids.

    docs/chunking.md has examples.
    """

    text: str
    start: int
    """The start in characters of the whole text."""
    end: int
    byte_start: int
    """The start in bytes of UTF-8."""
    byte_end: int
    ids: list[int]


LEAST_PART, PART_OF_A_TOKEN = 4096, 16
"""The characters that `NearIndex` covers at a time: the minimum, and the number for each token of a chunk."""
_NO_SPACE = re.compile(r"\S")


class Splitter:
    """Splits texts with the arguments of `split_text`, which are checked once."""

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
        """Split a text. `what` is its name in errors."""
        refused = validation.refusal(text, False, what)  # checks the whole text: the index checks only parts
        if refused is not None:
            raise refused
        window = self.window(text)
        chunks: list[Chunk] = []
        position = Position()
        for start, end in window.ranges():
            position = position.moved(text, start, end)
            chunks.append(self.chunk(window, start, end, position))
        return chunks

    def window(self, text: str) -> Window:
        """Return a window over `text`, to cut chunks from. `text` is a whole text, or a part of one."""
        index = NearIndex(self._engine, text, self._as_text, max(LEAST_PART, PART_OF_A_TOKEN * self.room))
        found = [finder for level in self.levels for finder in level(text)]
        return Window(text, index, found, self.room, self.overlap, self._strip)

    def chunk(self, window: Window, start: int, end: int, position: Position) -> Chunk:
        """The chunk of the characters [start, end) of a window, which is at `position` in the whole text."""
        part = window.text[start:end]
        ids = self._engine.encode_ids(part, True, self._as_text) if self._special else window.index.ids(start, end)
        return Chunk(part, *position, ids)


class Position(NamedTuple):
    """The place of a chunk in the whole text."""

    start: int = 0
    end: int = 0
    byte_start: int = 0
    byte_end: int = 0

    def moved(self, text: str, start: int, end: int, base: int = 0) -> Position:
        """The place of the next chunk, ``text[start:end]``. `base` is the start of `text` in the whole text."""
        before = self.end - base
        start_byte = self.byte_end + _bytes(text[before:start]) - _bytes(text[start:before])
        end_byte = self.byte_end + _bytes(text[before:end])
        return Position(base + start, base + end, start_byte, end_byte)


class Window:
    """A text, the index of its tokens, and the functions that find its boundaries."""

    def __init__(
        self, text: str, index: NearIndex, finders: list[Finder], room: int, overlap: int, strip: bool
    ) -> None:
        self.text = text
        self.index = index
        self._finders = finders
        self._room = room
        self._overlap = overlap
        self._strip = strip

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of all chunks."""
        start = end = 0
        while self.next_part(end) < len(self.text):
            start, end = self.next_range(start, end)
            yield start, end

    def next_part(self, end: int) -> int:
        """Return where the text after `end` continues: at `end`, or with `strip` after the white space there."""
        if not self._strip:
            return end
        found = _NO_SPACE.search(self.text, end)
        return len(self.text) if found is None else found.start()

    def next_range(self, start: int, end: int) -> tuple[int, int]:
        """The range of the chunk that follows the one from `start` to `end`."""
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
        """Return the furthest end of a chunk from `start`, plus the white space after it that would be stripped."""
        return self.next_part(self.index.longest(start, self._room))

    def _end(self, begin: int, done: int, reach: int) -> int | None:
        """Return the end of a chunk from `begin`, after `done` and at most `reach`, or None if no such chunk fits."""
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
        # The first tokens of a text may change when it is encoded alone. The smallest chunk is one character.
        return done + 1 if self.index.count(begin, done + 1) <= self._room else None

    def _stripped(self, end: int) -> int:
        """Return `end`, or with `strip` the place before the white space that precedes `end`."""
        while self._strip and self.text[end - 1].isspace():
            end -= 1
        return end

    def _first_piece(self, start: int, reach: int) -> int:
        """Return the end of the first piece of new text: from `start` to the first boundary, at most at `reach`."""
        for finder in self._finders:
            place = finder.first(start + 1, self.next_part(reach) + 1)
            if place is not None:
                return self._stripped(place)
        return start + 1

    def _begin(self, start: int, end: int, piece: int) -> int:
        """Return where the next chunk begins, to overlap the chunk from `start` to `end`.

        The first piece of the next chunk's new text ends at `piece`.
        """
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

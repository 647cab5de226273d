"""The input of training: batches of texts, or of lines of UTF-8 without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from mmap import mmap
from typing import NamedTuple

from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.util import validation

BATCH = 4 << 20
"""Approximate bytes or characters of a batch."""


class Texts(NamedTuple):
    """A batch of str."""

    texts: list[str]
    name: Callable[[int], str]
    """Returns the name of a text, by its index, for an error."""
    done: int
    """Progress after this batch, in the unit of the corpus' `total`."""

    def each(self) -> Iterator[str]:
        """Yield the texts. Raise TypeError, which names the item, for an item that is not a text."""
        for i, text in enumerate(self.texts):
            refused = validation.refusal(text, False, self.name(i))
            if refused is not None:
                raise refused
            yield text


class Lines(NamedTuple):
    """Lines of UTF-8. Each is a text, with its line ending."""

    data: bytes | mmap
    path: str
    first: int
    """The number of the first line in its file, from 1."""
    done: int

    def each(self) -> Iterator[str]:
        """Yield the lines. Raise InvalidUtf8Error, which names the line, for a line that is not UTF-8."""
        begin, number = 0, self.first
        while begin < len(self.data):
            end = self.data.find(b"\n", begin) + 1 or len(self.data)
            try:
                line = self.data[begin:end].decode()
            except UnicodeDecodeError as error:
                raise InvalidUtf8Error(
                    f"{self.path}, line {number} is not UTF-8: invalid byte at offset {error.start} of the line"
                ) from None
            yield line
            begin, number = end, number + 1


Batch = Texts | Lines


class Corpus(NamedTuple):
    """Batches that can be read once. `total` is the last batch's `done`, or 0 if unknown."""

    batches: Iterator[Batch]
    total: int = 0

    def texts(self) -> Iterator[str]:
        """Yield all texts."""
        for batch in self.batches:
            yield from batch.each()

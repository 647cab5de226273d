"""The input of training: batches of Python texts, or of the lines of a file, which are not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from mmap import mmap
from typing import NamedTuple

from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.util import validation

BATCH = 4 << 20
"""The approximate size of a batch, in bytes of a file or in characters of Python texts."""


class Texts(NamedTuple):
    """A batch of str."""

    texts: list[str]
    name: Callable[[int], str]
    """Returns a name for the text with this index, for an error message."""
    done: int
    """The progress after this batch, in the unit of `Corpus.total`."""

    def each(self) -> Iterator[str]:
        """Yield the texts. Raise TypeError, which names the item, for an item that is not a text."""
        for i, text in enumerate(self.texts):
            refused = validation.refusal(text, False, self.name(i))
            if refused is not None:
                raise refused
            yield text


class Lines(NamedTuple):
    """A batch of lines of UTF-8 from a file. Each line, with its line ending, is a text."""

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

"""The input of training: batches of texts, or of lines of UTF-8 that are not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from mmap import mmap
from typing import NamedTuple

from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.util import validation

BATCH = 4 << 20
"""How many bytes or characters a batch has, about."""


class Texts(NamedTuple):
    """Texts, each one on its own."""

    texts: list[str]
    name: Callable[[int], str]
    """What an error calls one of them, by its index."""
    done: int
    """How far the corpus is read with this batch, in the unit of its `total`."""

    def each(self) -> Iterator[str]:
        """The texts; TypeError names the first item that is not one."""
        for i, text in enumerate(self.texts):
            refused = validation.refusal(text, False, self.name(i))
            if refused is not None:
                raise refused
            yield text


class Lines(NamedTuple):
    """Lines of UTF-8, each one a text with its ending."""

    data: bytes | mmap
    path: str
    first: int
    """The number of the first line in its file, from 1."""
    done: int

    def each(self) -> Iterator[str]:
        """The lines; InvalidUtf8Error names the first that is not UTF-8."""
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
    """Batches, to be gone through once. `total` is where the last one's `done` will be; 0: nobody knows."""

    batches: Iterator[Batch]
    total: int = 0

    def texts(self) -> Iterator[str]:
        """All texts, one after the other."""
        for batch in self.batches:
            yield from batch.each()

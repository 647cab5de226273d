"""Split texts into chunks of a limited number of tokens: functions of any tokenizer, and methods of `Tokenizer`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from crayon_hf.util import validation

if TYPE_CHECKING:
    from crayon_hf.budgets.boundaries import Boundaries
    from crayon_hf.budgets.chunks import Chunk


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
    """Split a text into chunks of at most `max_tokens` tokens, at boundaries.

    A chunk is (text, start, end, byte_start, byte_end, ids): the ids are those of encoding its text by itself,
    the offsets say where it is, in characters and in bytes of UTF-8. Without `overlap` and `strip` the chunks
    together are the text.

    `boundaries` is ``"paragraph"``, ``"sentence"`` or ``"word"``: a chunk ends at the end of one. One that is too
    long is cut at the next finer kind, at last at tokens. It can also be ``"markdown"``, ``"json"``,
    ``"code:python"``, a compiled pattern (cuts are behind its matches), a function that gives offsets in a text, a
    list of these from the coarsest to the finest, or None: tokens alone.

    With `overlap` a chunk begins with up to so many of the last tokens of the one before, from a boundary on. With
    `add_special_tokens` the special tokens around a chunk count and are in its ids. With `strip` chunks have no
    white space at their ends, and each has something that the one before has not. Truncation and padding are
    ignored.

    ValueError for impossible sizes, and if a single character has more tokens than a chunk. Sentences and words
    need the extra ``chunks``; without it, MissingExtraError.

    >>> import crayon_hf
    >>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
    >>> text = "It rained. We stayed.\\n\\nThen the sun came out."
    >>> [chunk.text for chunk in tokenizer.split_text(text, 8, boundaries=["paragraph"])]
    ['It rained. We stayed.\\n\\n', 'Then the sun came out.']
    """
    from crayon_hf.budgets.chunks import Splitter

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
    """Split each text of a list, as `split_text` does.

    >>> import crayon_hf
    >>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
    >>> chunks = tokenizer.split_batch(["It rained. We stayed.", "Hello"], 4, boundaries=None)
    >>> [[chunk.text for chunk in each] for each in chunks]
    [['It rained.', ' We stayed.'], ['Hello']]
    """
    from crayon_hf.budgets.chunks import Splitter

    validation.check_list(texts)
    splitter = Splitter(tokenizer, max_tokens, overlap, boundaries, add_special_tokens, strip)
    return [splitter.split(text, f"text {i}") for i, text in enumerate(texts)]


def split_file(
    tokenizer: Any,
    file: str | os.PathLike[str] | IO[bytes],
    max_tokens: int,
    overlap: int = 0,
    boundaries: Boundaries = "paragraph",
    *,
    add_special_tokens: bool = False,
    strip: bool = False,
) -> Iterator[Chunk]:
    """The chunks of a file of any size, one after the other, in little memory.

    `file` is a path or a binary file, as for `encode_file`. The chunks are those of `split_text`, except that a
    line of more than half a megabyte may be cut at other places. Patterns and functions get a window of the file
    at a time, a megabyte or more, which begins with a line. Markdown, JSON and code are read whole.
    InvalidUtf8Error says which byte is not UTF-8.

    >>> import io
    >>> import crayon_hf
    >>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
    >>> file = io.BytesIO(b"It rained. We stayed.")
    >>> [chunk.text for chunk in tokenizer.split_file(file, 4, boundaries=None)]
    ['It rained.', ' We stayed.']
    """
    from crayon_hf.budgets.chunks import Splitter
    from crayon_hf.budgets.files import chunks_of

    return chunks_of(Splitter(tokenizer, max_tokens, overlap, boundaries, add_special_tokens, strip), file)

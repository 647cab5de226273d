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
    """Split a text into chunks of at most `max_tokens` tokens, at boundaries. Truncation and padding are ignored.

    Args:
        text: The text to split.
        max_tokens: The most tokens of a chunk.
        overlap: The most tokens that a chunk repeats from the end of the chunk before it, beginning at a boundary.
        boundaries: ``"paragraph"``, ``"sentence"`` or ``"word"`` to end chunks there; a unit that is too long is cut
            at the next finer kind, finally at tokens. Also ``"markdown"``, ``"json"``, ``"code:python"``, a compiled
            pattern (cuts are after its matches), or a function that returns offsets in a text. Or a list of these,
            coarsest first, or None for tokens alone.
        add_special_tokens: Add special tokens around each chunk. They count, and are in its ids.
        strip: Remove white space at the ends of chunks. Each chunk has text that the chunk before it lacks.

    Returns:
        Chunks (text, start, end, byte_start, byte_end, ids) with offsets in characters and in bytes of UTF-8, and the
        ids of encoding the chunk's text alone. Without `overlap` and `strip` the chunks together are the text.

    Raises:
        ValueError: `max_tokens` or `overlap` is out of range, or a single character has more tokens than a chunk.
        MissingExtraError: The extra ``chunks``, which finds sentences and words, is not installed.

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
    """Split each text of a list like `split_text`.

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
    """Iterate over the chunks of a file of any size, in bounded memory.

    The chunks are those of `split_text`, except that a line of more than half a megabyte may be cut at other places.
    Patterns and functions get a window of the file at a time, a megabyte or more from the start of a line. Markdown,
    JSON and code are read whole.

    Args:
        file: A path or a binary file, as for `encode_file`.

    Raises:
        InvalidUtf8Error: The file is not UTF-8; the message has the offset of the byte.
        Exception: The errors of `split_text`.

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

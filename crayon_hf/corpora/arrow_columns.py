"""Tokenize a column of texts into a column of ids, from Arrow buffers to Arrow buffers without Python objects.

Needs ``pyarrow``, a part of the extra ``corpora``. The layouts are those of Arrow's specification ("Physical Memory
Layout"): offsets into one buffer of bytes, and a bitmap of valid rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crayon_hf import _core
from crayon_hf.corpora.formats import columnar
from crayon_hf.corpora.job.encoder import DocumentEncoder
from crayon_hf.errors import CorpusError, InvalidUtf8Error, UnsupportedError
from crayon_hf.text_readers.arrow_ranges import ArrowRanges, check_type, ranges_of

if TYPE_CHECKING:
    import pyarrow as pa

    from crayon_hf.tokenizer import Tokenizer

_SMALL, _JOINED = 1 << 20, 1 << 25
"""Chunks under `_SMALL` bytes are joined, up to `_JOINED` bytes. A dataset of selected rows has one chunk per row."""


def tokenize_column(
    tokenizer: Any,
    column: pa.Array | pa.ChunkedArray,
    *,
    add_special_tokens: bool = True,
    suffix: Sequence[int] = (),
    suffix_empty: bool = True,
    threads: int = 0,
    name: str | None = None,
) -> pa.Array | pa.ChunkedArray:
    """Tokenize every text of an Arrow column, with the ids of `Tokenizer.encode_ragged`.

    Args:
        tokenizer: A `Tokenizer`, or one of this package's ``transformers`` classes.
        column: An array or chunked array of string, large_string, string_view, or a dictionary of these. A null stays
            null. Buffers are not copied, except those of string_view, dictionaries and chunks under 1 MiB.
        add_special_tokens: Add the special tokens that the tokenizer puts around a text.
        suffix: Ids to append to each text.
        suffix_empty: Whether texts without tokens get `suffix`, too.
        threads: Encoding threads; 0 uses all cores.
        name: The name of the column in errors.

    Returns:
        For an array, an array of ``list<int32>``, or of ``large_list<int32>`` above 2^31 - 1 ids. For a chunked array,
        a chunked array of ``list<int32>``, with chunks split where they exceed that number.

    Raises:
        CorpusError: The column has another type or is damaged.
        InvalidUtf8Error: A text is not UTF-8; the message names the row.

    docs/corpora.md has examples.
    """
    import pyarrow as pa

    encode = _encoder(tokenizer, add_special_tokens, tuple(suffix), suffix_empty, threads)
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        raise TypeError(f"column is {type(column).__name__}, expected pyarrow.Array or pyarrow.ChunkedArray")
    with _about(name):
        check_type(column.type)
        if isinstance(column, pa.Array):
            ranges = ranges_of(column)
            return columnar.list_array(*encode(ranges, 0), ranges.valid)
        chunks: list[pa.Array] = []
        row = 0
        for chunk in _worthwhile(column):
            ranges = ranges_of(chunk)
            chunks.extend(_cut(*encode(ranges, row), ranges.valid))
            row += len(chunk)
    return pa.chunked_array(chunks, pa.list_(pa.int32()))


@contextlib.contextmanager
def _about(name: str | None) -> Iterator[None]:
    """Put the name of the column before the messages of errors about its contents."""
    try:
        yield
    except (CorpusError, InvalidUtf8Error) as error:
        raise type(error)(f"{'the column' if name is None else f'column {name!r}'} {error}") from None


def tokenizer_of(tokenizer: Any) -> Tokenizer:
    """Return `tokenizer` itself, or the `Tokenizer` inside one of this package's ``transformers`` classes.

    Raises:
        TypeError: `tokenizer` is something else.
        UnsupportedError: A ``transformers`` class overrides encoding.
    """
    from crayon_hf.tokenizer import Tokenizer

    inner = tokenizer if isinstance(tokenizer, Tokenizer) else getattr(tokenizer, "_tokenizer", None)
    if not isinstance(inner, Tokenizer):
        raise TypeError(
            f"tokenizer is {type(tokenizer).__name__}, expected a Tokenizer or a tokenizer of crayon_hf.AutoTokenizer"
        )
    if not getattr(tokenizer, "_crayon_plain_calls", True):
        raise UnsupportedError(f"{type(tokenizer).__name__} overrides encoding, so it cannot process Arrow columns")
    return inner


def _encoder(
    tokenizer: Any, add_special_tokens: bool, suffix: tuple[int, ...], suffix_empty: bool, threads: int
) -> Callable[[ArrowRanges, int], tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]]:
    """Return a function that encodes the ranges of an array, whose first row has the given number in the column.

    The function returns (ids, row_splits). A null row has no ids.
    """
    inner = tokenizer_of(tokenizer)
    special_as_text = getattr(tokenizer, "split_special_tokens", None)  # an attribute of transformers' classes
    if special_as_text is not None and special_as_text != inner.encode_special_tokens:
        inner = inner._as_it_is()
        inner.encode_special_tokens = bool(special_as_text)
    encoder = DocumentEncoder(inner, np.dtype(np.int32), suffix, suffix_empty, add_special_tokens, threads)

    def encode(ranges: ArrowRanges, first_row: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        data, begins, ends, valid = ranges
        if valid is not None:  # the ranges of null rows are undefined
            begins, ends = begins[valid], ends[valid]
        try:
            ids, splits = encoder.encode(data, begins, ends)
        except InvalidUtf8Error:
            places = _core.utf8_errors(data, begins, ends)
            text = int(np.flatnonzero(places >= 0)[0])
            row = first_row + (text if valid is None else int(np.flatnonzero(valid)[text]))
            raise InvalidUtf8Error(f"is not UTF-8 in row {row}, byte {places[text]} of the text") from None
        return ids, splits if valid is None else splits[np.concatenate(([0], np.cumsum(valid)))]

    return encode


def _worthwhile(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield the chunks, with small ones of string and large_string joined, because each encoding starts threads."""
    import pyarrow as pa

    plain = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    small: list[pa.Array] = []
    size = 0
    for chunk in column.chunks:
        more = chunk.nbytes if plain else _SMALL
        if small and (more >= _SMALL or size + more > _JOINED):
            yield pa.concat_arrays(small)
            small, size = [], 0
        if more >= _SMALL:
            yield chunk
        else:
            small.append(chunk)
            size += more
    if small:
        yield pa.concat_arrays(small)


def _cut(
    ids: npt.NDArray[np.int32], splits: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_] | None
) -> Iterator[pa.Array]:
    """Make Arrow arrays of lists of at most `columnar.MOST_IDS` ids. `splits` are the edges of the lists in `ids`."""
    begin = 0
    while begin < len(splits) - 1:
        end = int(np.searchsorted(splits, splits[begin] + columnar.MOST_IDS, "right")) - 1
        if end == begin:
            count = splits[begin + 1] - splits[begin]
            raise CorpusError(f"has a text of {count} tokens: the limit of a list is {columnar.MOST_IDS}")
        part = splits[begin : end + 1]
        yield columnar.list_array(ids[part[0] : part[-1]], part - part[0], None if valid is None else valid[begin:end])
        begin = end

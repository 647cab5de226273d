"""Finds the byte ranges of the texts in an Arrow array, without a Python object for any text. Needs ``pyarrow``.

The layouts are those of Arrow's specification ("Physical Memory Layout"): offsets into one buffer of bytes, a validity
bitmap, indices into a dictionary. Offsets and indices are checked, since a file may be damaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.errors import CorpusError

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowRanges(NamedTuple):
    """The text of row i is ``data[begins[i]:ends[i]]`` if ``valid[i]``. It may be invalid UTF-8."""

    data: memoryview
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    valid: npt.NDArray[np.bool_] | None
    """Whether each row has a text, or None if no row is null. The ranges of null rows are within `data`."""


def ranges_of(array: pa.Array) -> ArrowRanges:
    """Return the ranges of an array of string, large_string or string_view, of a dictionary of these, or of nulls.

    Buffers are not copied, except those of string_view, dictionaries and compressed data. Raise CorpusError for another
    type and for damaged data. The caller puts the column's name before its message.
    """
    import pyarrow as pa

    kind = array.type
    check_type(kind)
    if isinstance(array, pa.ExtensionArray):
        return ranges_of(array.storage)
    try:
        array.validate()
        indices = array.indices if pa.types.is_dictionary(kind) else None
        texts = array if indices is None else array.dictionary
        if is_view(texts.type):
            texts = texts.view(pa.binary_view())  # as bytes: UTF-8 is checked later
            texts.validate(full=True)
            texts = texts.cast(pa.large_binary())
        array = texts if indices is None else texts.take(indices)
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise _damaged(str(error)) from error
    if pa.types.is_null(array.type) or not len(array):
        nothing = np.zeros(len(array), np.int64)
        return ArrowRanges(memoryview(b""), nothing, nothing, np.zeros(len(array), np.bool_))
    width: np.dtype[Any] = np.dtype(np.int32 if pa.types.is_string(array.type) else np.int64)
    _, offsets, data = array.buffers()
    view = memoryview(b"" if data is None else data).cast("B")
    places = np.frombuffer(offsets, width, len(array) + 1, array.offset * width.itemsize).astype(np.int64, copy=False)
    begins, ends = places[:-1], places[1:]
    if places[0] < 0 or places[-1] > len(view) or (begins > ends).any():
        raise _damaged("offsets that are not in order")
    return ArrowRanges(view, begins, ends, _valid(array))


def check_type(kind: pa.DataType) -> None:
    """Raise CorpusError unless `kind` is an Arrow type of texts."""
    import pyarrow as pa

    inner = kind
    while isinstance(inner, (pa.BaseExtensionType, pa.DictionaryType)):
        inner = inner.value_type if isinstance(inner, pa.DictionaryType) else inner.storage_type
    types = pa.types
    if types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner) or is_view(inner):
        return
    hint = "; cast it: column.cast(pyarrow.string())" if types.is_binary(inner) or types.is_large_binary(inner) else ""
    raise CorpusError(f"is {kind}, expected string{hint}")


def is_view(kind: pa.DataType) -> bool:
    """Whether a type is string_view, which older versions of ``pyarrow`` lack."""
    import pyarrow as pa

    return hasattr(pa.types, "is_string_view") and bool(pa.types.is_string_view(kind))


def _valid(array: Any) -> npt.NDArray[np.bool_] | None:
    if not array.null_count:
        return None
    valid: npt.NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _damaged(what: str) -> CorpusError:
    return CorpusError(f"is damaged: {what}")

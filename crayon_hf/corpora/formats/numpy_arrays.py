"""NumPy arrays: ``.npy`` with the tokens of all documents, and ``.row_splits.npy`` with the edges of the documents.

Bare arrays: ``.bin`` with the same row splits, for ``np.memmap(path, dtype, "r")``, like those of nanoGPT and OLMo.

``np.load(path, mmap_mode="r")`` maps the ``.npy`` files, which have the bytes of ``np.save``. Packed sequences give an
array of shape (sequences, tokens), with the row splits of all pieces of documents.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardWriter, Vocabulary
from crayon_hf.corpora.formats.output import Output


class _Writer(ShardWriter):
    """Writes the tokens, with or without numpy's header, and the row splits."""

    _pieces = 0

    def _begin(self) -> None:
        self._splits, self._tokens = [self._output(path) for path in self._format.files(self.prefix)]
        self._splits.write(_header("<i8", (0,)) + bytes(8))
        if self._format.name == "npy":
            self._tokens.write(_header(self.dtype.str, self._shape(0, 0)))

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        self._tokens.write(ids)
        self._splits.write((self.tokens + np.cumsum(pieces)).astype("<i8"))
        self._pieces += len(pieces)

    def _end(self) -> None:
        _count(self._splits, "<i8", (self._pieces + 1,))
        if self._format.name == "npy":
            _count(self._tokens, self.dtype.str, self._shape(self.documents, self.tokens))

    def _shape(self, documents: int, tokens: int) -> tuple[int, ...]:
        length = self._settings.sequence_length
        return (tokens,) if length is None else (documents, length)


class Arrays(Format):
    """uint16 or uint32, by the largest id. Document i is ``tokens[row_splits[i] : row_splits[i + 1]]``."""

    _writer = _Writer

    def __init__(self, name: str) -> None:
        """`name` is ``npy``, or ``bin``, whose files do not record their dtype."""
        self.name = name

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """uint16 if every id fits, else uint32."""
        return np.dtype("<u2" if vocabulary.largest_id <= 0xFFFF else "<u4")

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".row_splits.npy", f"{prefix}.{self.name}"]


def _header(descr: str, shape: tuple[int, ...]) -> bytes:
    from numpy.lib import format

    file = io.BytesIO()
    format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})  # type: ignore[no-untyped-call]
    return file.getvalue()


def _count(output: Output, descr: str, shape: tuple[int, ...]) -> None:
    """Write the final shape into the header of a ``.npy`` file, whose padding leaves room for any number of rows."""
    header = _header(descr, shape)
    assert len(header) == len(_header(descr, (0, *shape[1:])))
    output.overwrite_start(header)

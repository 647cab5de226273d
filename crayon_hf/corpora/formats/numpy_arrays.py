"""NumPy: ``.npy``, the tokens of all documents, and ``.row_splits.npy``, where each begins and the last one ends. And
bare tokens: ``.bin`` is for ``np.memmap(path, dtype, "r")``, as nanoGPT and OLMo read theirs, with the same row splits.

``np.load(path, mmap_mode="r")`` opens both without reading them. They are what ``np.save`` writes of the arrays.
Sequences make an array of two axes, (sequences, tokens), and the row splits are those of the pieces of documents in all
of them.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardWriter, Vocabulary, unsigned
from crayon_hf.corpora.formats.output import Output


class _Writer(ShardWriter):
    """Tokens one after the other, with numpy's header or bare, and the row splits beside them."""

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
    """uint16 or uint32, by the largest id; document i is ``tokens[row_splits[i] : row_splits[i + 1]]``."""

    _writer = _Writer

    def __init__(self, name: str) -> None:
        """``npy``, or ``bin``: its files do not say which dtype it is."""
        self.name = name

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """uint16 where every id fits, else uint32."""
        return unsigned(vocabulary)

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".row_splits.npy", f"{prefix}.{self.name}"]


def _header(descr: str, shape: tuple[int, ...]) -> bytes:
    from numpy.lib import format

    file = io.BytesIO()
    format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})  # type: ignore[no-untyped-call]
    return file.getvalue()


def _count(output: Output, descr: str, shape: tuple[int, ...]) -> None:
    """Put the shape into the header; numpy leaves room for any number in front."""
    header = _header(descr, shape)
    assert len(header) == len(_header(descr, (0, *shape[1:])))
    output.overwrite_start(header)

"""NumPy: ``.npy``, the tokens of all documents, and ``.row_splits.npy``, where each begins and the last one ends.

``np.load(path, mmap_mode="r")`` opens both without reading them. They are what ``np.save`` writes of the arrays.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter, Vocabulary, unsigned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crayon_hf.corpora.formats.output import Output


class NumpyArrays(Format):
    """uint16 or uint32, by the largest id; document i is ``tokens[row_splits[i] : row_splits[i + 1]]``."""

    name = "npy"

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """uint16 where every id fits, else uint32."""
        return unsigned(vocabulary)

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".row_splits.npy", prefix + ".npy"]

    def _writer(self, prefix: str, dtype: np.dtype[Any], settings: ShardSettings) -> ShardWriter:
        return SplitsWriter(self, prefix, dtype, header=True)


class SplitsWriter(ShardWriter):
    """Tokens one after the other, with numpy's header or bare, and the row splits beside them."""

    def __init__(self, format: Format, prefix: str, dtype: np.dtype[Any], header: bool) -> None:
        super().__init__(format, prefix, dtype)
        self._has_header = header

    def _begin(self) -> None:
        self._splits, self._tokens = [self._output(path) for path in self._format.files(self.prefix)]
        self._splits.write(_header("<i8", 0) + bytes(8))
        if self._has_header:
            self._tokens.write(_header(self.dtype.str, 0))

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        import numpy as np

        self._tokens.write(ids)
        self._splits.write((self.tokens + np.cumsum(lengths)).astype("<i8"))

    def _end(self) -> None:
        _count(self._splits, "<i8", self.documents + 1)
        if self._has_header:
            _count(self._tokens, self.dtype.str, self.tokens)


def _header(descr: str, count: int) -> bytes:
    from numpy.lib import format

    file = io.BytesIO()
    format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": (count,)})  # type: ignore[no-untyped-call]
    return file.getvalue()


def _count(output: Output, descr: str, count: int) -> None:
    """Put the number of elements into the header; numpy leaves room for any number."""
    header = _header(descr, count)
    assert len(header) == len(_header(descr, 0))
    output.overwrite_start(header)

"""Bare tokens: ``.bin`` is for ``np.memmap(path, dtype, "r")``, as nanoGPT and OLMo read theirs; the documents are in
``.row_splits.npy``, where each begins and the last one ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter, Vocabulary, unsigned
from crayon_hf.corpora.formats.numpy_arrays import SplitsWriter

if TYPE_CHECKING:
    import numpy as np


class Raw(Format):
    """uint16 or uint32, by the largest id: the file does not say which."""

    name = "bin"

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """uint16 where every id fits, else uint32."""
        return unsigned(vocabulary)

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".row_splits.npy", prefix + ".bin"]

    def _writer(self, prefix: str, dtype: np.dtype[Any], settings: ShardSettings) -> ShardWriter:
        return SplitsWriter(self, prefix, dtype, settings.sequence_length, header=False)

"""Megatron-LM: ``.bin`` with the tokens, ``.idx`` with the places of the documents. Every document is one sequence.

The layout is that of ``megatron/core/datasets/indexed_dataset.py``. Texts are treated as by
``tools/preprocess_data.py`` without ``--split-sentences``. The index, little-endian:

- ``b"MMIDIDX\\0\\0"``: 9 bytes
- ``uint64``: version, 1
- ``uint8``: dtype of the tokens, 8 for uint16, 4 for int32
- ``uint64 s``, ``uint64 d``: the number of sequences; the number of documents + 1
- ``int32[s]``: tokens of each sequence
- ``int64[s]``: byte of the .bin where each sequence begins
- ``int64[d]``: sequences before each document, then the number of all sequences
"""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardWriter, Vocabulary
from crayon_hf.corpora.formats.output import Spool

_CODES = {2: 8, 4: 4}
"""The code of the dtype, by the bytes of a token."""


class _Writer(ShardWriter):
    _longest = (1 << 31) - 1
    """The lengths in the index are int32."""

    def _begin(self) -> None:
        self._tokens, self._index = [self._output(path) for path in self._format.files(self.prefix)]
        self._lengths = self._stack.enter_context(contextlib.closing(Spool(self._index.path, "<i4")))
        self._sequences = 0

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        self._tokens.write(ids)
        self._lengths.append(lengths)
        self._sequences += int((lengths > 0).sum())

    def _end(self) -> None:
        index, width = self._index, self.dtype.itemsize
        index.write(b"MMIDIDX\0\0" + struct.pack("<QB", 1, _CODES[width]))
        index.write(struct.pack("<QQ", self._sequences, self._lengths.count + 1))
        for block in self._lengths.blocks():
            index.write(block[block > 0].astype("<i4"))
        position = 0
        for block in self._lengths.blocks():
            lengths = block[block > 0]
            ends = position + np.cumsum(lengths) * width
            index.write((ends - lengths * width).astype("<i8"))
            position = int(ends[-1]) if len(ends) else position
        before = 0
        index.write(struct.pack("<q", before))
        for block in self._lengths.blocks():
            sequences = before + np.cumsum(block > 0)
            index.write(sequences.astype("<i8"))
            before = int(sequences[-1])


class Megatron(Format):
    """A text without tokens is a document without a sequence, and gets no end-of-text token."""

    name = "megatron"
    _writer = _Writer
    suffix_empty = False

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """uint16 below 65500 tokens, else int32."""
        return np.dtype("<u2" if vocabulary.size < 65500 else "<i4")

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".bin", prefix + ".idx"]

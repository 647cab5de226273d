"""datatrove: ``.ds`` with the tokens, ``.ds.index`` with the ends of the documents, and ``.ds.metadata``, a text.

The layout is that of ``TokenizedFile`` in ``datatrove/pipeline/tokens/tokenizer.py``. The index is uint64, in tokens.
The metadata has three lines: the tokenizer and the bytes of a token; the number of tokens; that number abbreviated.
With packed sequences the index has the ends of their pieces, from which the reader makes positions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.base import Format, ShardWriter, Vocabulary


class _Writer(ShardWriter):
    def _begin(self) -> None:
        self._index, self._metadata, self._tokens = [self._output(path) for path in self._format.files(self.prefix)]

    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        self._tokens.write(ids)
        self._index.write((self.tokens + np.cumsum(pieces)).astype("<u8"))

    def _end(self) -> None:
        width = self.dtype.itemsize
        name = self._settings.vocabulary.name or f"Unknown Tokenizer|{width}"
        self._metadata.write(f"{name}|{width}\n{self.tokens}\n{for_people(self.tokens)}".encode())


class Datatrove(Format):
    """A text without tokens is an empty document, or with `append_eos` a document of the end-of-text token alone."""

    name = "datatrove"
    _writer = _Writer

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """uint16 up to 65536 tokens, else uint32."""
        return np.dtype("<u2" if vocabulary.size <= 1 << 16 else "<u4")

    def files(self, prefix: str) -> list[str]:
        return [prefix + ".ds.index", prefix + ".ds.metadata", prefix + ".ds"]


def for_people(tokens: int) -> str:
    """A number of tokens below 1e30 in three digits and a prefix, like ``humanize.metric(tokens, unit="T")``."""
    exponent = math.floor(math.log10(tokens)) if tokens else 0
    scaled = tokens / 10 ** (exponent - exponent % 3)
    if round(scaled, 2 - exponent % 3) >= 10 ** (exponent % 3 + 1):  # rounding gives one digit more, as for 999.9
        exponent += 1
        if exponent % 3 == 0:
            scaled /= 1000
    return f"{scaled:.{2 - exponent % 3}f} {['', *'kMGTPEZYR'][exponent // 3]}T"

"""Templates by which the text of a document is made of several columns of a row."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from crayon_hf.util import validation


class Template:
    """A text with names of columns in braces, as ``"{title}\\n\\n{text}"``. As in str.format, ``{{`` is a brace."""

    def __init__(self, template: str) -> None:
        """Parse a template. Raise ValueError if it is invalid or names no column."""
        validation.text(template, "template")
        self.columns: list[str] = []
        """The columns that the template names, each once."""
        self.pieces: list[bytes | int] = []
        """Literal texts, and indices into `columns`."""
        try:
            parts = list(string.Formatter().parse(template))
        except ValueError as error:
            raise ValueError(f"template {template!r}: {error} (braces are written {{{{ and }}}})") from None
        for literal, name, spec, conversion in parts:
            if literal:
                self.pieces.append(literal.encode())
            if name is None:
                continue
            if not name or spec or conversion:
                raise ValueError(f"template {template!r}: expected the name of a column between braces, nothing else")
            if name not in self.columns:
                self.columns.append(name)
            self.pieces.append(self.columns.index(name))
        if not self.columns:
            raise ValueError(f"template {template!r} names no column")

    def sizes(self, sizes: Sequence[npt.NDArray[np.int64]] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the size of each row's text in bytes, given the sizes of its columns."""
        whole = np.zeros_like(sizes[0])
        for piece in self.pieces:
            whole += sizes[piece] if isinstance(piece, int) else len(piece)
        return whole

    def text(self, values: Sequence[bytes]) -> bytes:
        """Return the text of a row, given its values in the order of `columns`."""
        return b"".join([values[piece] if isinstance(piece, int) else piece for piece in self.pieces])

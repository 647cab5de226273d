"""Documents put together to groups of a bounded size, the same ones however the documents come in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import FormatError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LONGEST = (1 << 31) - 1
"""Tokens of one document: the offsets of an Arrow list are int32."""


class Groups:
    """As many documents to a group as fit into both limits; a document longer than `tokens` is a group of its own."""

    def __init__(self, rows: int, tokens: int) -> None:
        self._most_rows, self._most_tokens = rows, tokens
        self._rows = self._tokens = 0
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []

    def add(
        self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]
    ) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """The groups that became full; each is ids, and the lengths of its documents."""
        import numpy as np

        ends = np.cumsum(lengths)
        done = position = 0
        while done < len(lengths):
            fit = int(np.searchsorted(ends[done:], position + self._most_tokens - self._tokens, side="right"))
            fit = min(fit, self._most_rows - self._rows)
            if fit == 0 and self._rows:
                yield self.rest()
                continue
            stop = done + max(fit, 1)
            end = int(ends[stop - 1])
            self._ids.append(ids[position:end])
            self._lengths.append(lengths[done:stop])
            self._rows += stop - done
            self._tokens += end - position
            done, position = stop, end
            if self._rows == self._most_rows:
                yield self.rest()
        if self._ids:  # the caller may use the array again
            self._ids[-1] = self._ids[-1].copy()

    def rest(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """The group that is not full; there is an empty one after it."""
        import numpy as np

        ids, lengths = self._ids, self._lengths
        self._ids, self._lengths = [], []
        self._rows = self._tokens = 0
        return np.concatenate(ids), np.concatenate(lengths)

    def __len__(self) -> int:
        """Documents that wait."""
        return self._rows


def list_array(ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> Any:
    """A ``pyarrow.ListArray`` over the ids themselves."""
    import numpy as np
    import pyarrow

    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(ids))


def pyarrow(prefix: str) -> Any:
    """The library.

    Raises:
        FormatError: It is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise FormatError(f"{prefix}: this format needs pyarrow: pip install 'crayon-hf[corpora]'") from error
    return pyarrow

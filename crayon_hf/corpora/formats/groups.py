"""Gather documents into groups of bounded size, which do not depend on how calls divide the documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Group = tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64]]
"""The ids of some documents, in parts that are views of the added arrays, and the length of each document."""


class Groups:
    """Gathers documents into groups of at most `rows` documents and `size` tokens. A longer document is alone."""

    def __init__(self, rows: int, size: int) -> None:
        self._most_rows, self._most = rows, size
        self._rows = self._size = 0
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []

    def add(
        self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64] | None = None
    ) -> Iterator[Group]:
        """Add documents and yield the groups that are full.

        `sizes` are the sizes of the documents if `size` limits something else than tokens.
        """
        ends = np.concatenate([[0], np.cumsum(lengths)])
        sized = ends if sizes is None else np.concatenate([[0], np.cumsum(sizes)])
        done = 0
        while done < len(lengths):
            fit = int(np.searchsorted(sized[done + 1 :], sized[done] + self._most - self._size, side="right"))
            fit = min(fit, self._most_rows - self._rows)
            if fit == 0 and self._rows:
                yield self.rest()
                continue
            stop = done + max(fit, 1)
            self._ids.append(ids[ends[done] : ends[stop]])
            self._lengths.append(lengths[done:stop])
            self._rows += stop - done
            self._size += int(sized[stop] - sized[done])
            done = stop
            if self._rows == self._most_rows:
                yield self.rest()
        if self._ids:  # the caller may reuse the array
            self._ids[-1] = self._ids[-1].copy()

    def rest(self) -> Group:
        """Take the group that is not full, and begin an empty one."""
        ids, lengths = self._ids, self._lengths
        self._ids, self._lengths = [], []
        self._rows = self._size = 0
        return ids, np.concatenate(lengths)

    def __len__(self) -> int:
        """Documents in the group that is not full."""
        return self._rows

"""The documents of a shard's input in another order: their ids are spooled as they come, then read in the new order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.output import Spool

_BATCH_TOKENS = 1 << 20
_BATCH_DOCUMENTS = 1 << 16


class Shuffler:
    """Documents that wait on the disk, their ids one after the other and where each ends, for another order.

    Memory: nothing while they are written; 16 bytes a document while they are read in another order.
    """

    def __init__(self, directory: str, dtype: np.dtype[Any]) -> None:
        """On the disk of `directory`."""
        self._tokens, self._ends = (
            Spool(os.path.join(directory, name), of) for name, of in (("tokens", dtype), ("ends", "<i8"))
        )

    @property
    def documents(self) -> int:
        """How many there are."""
        return self._ends.count

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Documents."""
        self._ends.append(splits[1:] - splits[0] + self._tokens.count)
        self._tokens.append(ids)

    def shuffled(self, seed: int, first: int) -> Iterator[tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """(number in the new order, ids, row_splits) of batches of documents, from number `first` on.

        The order is ``numpy.random.default_rng(seed).permutation(documents)``, as datatrove has it.
        """
        ends = np.concatenate([np.zeros(0, np.int64), *self._ends.blocks()])
        tokens = self._tokens.mapped()
        order = np.random.default_rng(seed).permutation(self.documents)
        while first < self.documents:
            chosen = order[first : first + _BATCH_DOCUMENTS]
            lengths = ends[chosen] - np.where(chosen > 0, ends[chosen - 1], 0)
            splits = np.zeros(len(chosen) + 1, np.int64)
            np.cumsum(lengths, out=splits[1:])
            count = max(1, int(splits.searchsorted(_BATCH_TOKENS, side="right")) - 1)
            splits = splits[: count + 1]
            begins, stops = ends[chosen[:count]] - lengths[:count], ends[chosen[:count]]
            ids = np.concatenate([tokens[a:b] for a, b in zip(begins.tolist(), stops.tolist(), strict=True)])
            yield first, ids, splits
            first += count

    def close(self) -> None:
        """Give the space back."""
        self._tokens.close()
        self._ends.close()

"""The documents of a shard's input in another order: their ids are spooled as they come, then read in the new order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_BATCH_TOKENS = 1 << 20
_BATCH_DOCUMENTS = 1 << 16


class Spool:
    """Ids one document after the other in a file, and where each document ends, in tokens, in another.

    Memory: nothing while they are written; 16 bytes a document while they are read in another order.
    """

    def __init__(self, path: str, dtype: np.dtype[Any], tokens: int, documents: int) -> None:
        """Go on after so many tokens and documents; what is behind them does not count."""
        self.tokens, self.documents = tokens, documents
        self._dtype = dtype
        self._files = [open(name, "ab", buffering=0) for name in files_of(path)]  # noqa: SIM115
        for file, size in zip(self._files, (tokens * dtype.itemsize, documents * 8), strict=True):
            file.truncate(size)

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Documents."""
        import numpy as np

        ends = splits[1:] - splits[0] + self.tokens
        for file, array in zip(
            self._files, (ids.astype(self._dtype, copy=False), ends.astype("<i8", copy=False)), strict=True
        ):
            view: Any = memoryview(np.ascontiguousarray(array)).cast("B")  # type: ignore[arg-type, unused-ignore]
            while len(view):
                view = view[file.write(view) :]
        self.tokens += len(ids)
        self.documents += len(ends)

    def sync(self) -> tuple[int, int]:
        """Bring them to the disk; how many tokens and documents there are."""
        for file in self._files:
            os.fsync(file.fileno())
        return self.tokens, self.documents

    def shuffled(self, seed: int, first: int) -> Iterator[tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """(number in the new order, ids, row_splits) of batches of documents, from number `first` on.

        The order is ``numpy.random.default_rng(seed).permutation(documents)``, as datatrove has it.
        """
        import numpy as np

        tokens, index = self._files
        ends = np.fromfile(index.name, "<i8", self.documents)
        order = np.random.default_rng(seed).permutation(self.documents)
        with open(tokens.name, "rb", buffering=0) as file:
            while first < self.documents:
                chosen = order[first : first + _BATCH_DOCUMENTS]
                lengths = ends[chosen] - np.where(chosen > 0, ends[chosen - 1], 0)
                splits = np.zeros(len(chosen) + 1, np.int64)
                np.cumsum(lengths, out=splits[1:])
                count = max(1, int(splits.searchsorted(_BATCH_TOKENS, side="right")) - 1)
                splits = splits[: count + 1]
                ids = np.empty(int(splits[-1]), self._dtype)
                view, size = memoryview(ids).cast("B"), self._dtype.itemsize  # type: ignore[arg-type, unused-ignore]
                places = ((ends[chosen[:count]] - lengths[:count]) * size).tolist()
                bounds = (splits * size).tolist()
                for place, begin, end in zip(places, bounds, bounds[1:], strict=False):
                    _read(file.fileno(), view[begin:end], place)
                yield first, ids, splits
                first += count

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def files_of(path: str) -> tuple[str, str]:
    """The two files of a spool."""
    return f"{path}.tokens", f"{path}.ends"


def _read(descriptor: int, into: memoryview, place: int) -> None:
    while len(into):
        count = _pread(descriptor, into, place)
        if count == 0:
            raise OSError("the spooled tokens end too early: somebody has changed them")
        into, place = into[count:], place + count


def _pread(descriptor: int, into: memoryview, place: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [into], place)
    os.lseek(descriptor, place, os.SEEK_SET)  # one thread reads
    data = os.read(descriptor, len(into))
    into[: len(data)] = data
    return len(data)

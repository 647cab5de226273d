"""The documents of a task: read from its files, encoded in batches, and shuffled if asked for."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.output import Spool
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.encoder import DocumentEncoder
from crayon_hf.corpora.job.state import Counts
from crayon_hf.text_readers.batches import joined
from crayon_hf.text_readers.documents import BadRecord, Documents, InputFile, Reading
from crayon_hf.text_readers.files import read_documents

_BUNDLE_BYTES = 1 << 20
_BUNDLE = 256
"""Limits of small batches that are encoded together: their number, and with `_BUNDLE_BYTES` their bytes."""
_BATCH_TOKENS = 1 << 20
_BATCH_DOCUMENTS = 1 << 16


class Batch(NamedTuple):
    """A batch of documents of one file."""

    file: int
    """The file's index in the task."""
    documents: Documents
    """The documents. Their `size` is the stored bytes read so far, including the task's earlier files."""


def read_batches(files: Sequence[InputFile], reading: Reading) -> Generator[Batch, None, None]:
    """Read all documents and bad records of `files`."""
    before = 0
    for number, file in enumerate(files):
        for documents in read_documents(file, reading):
            yield Batch(number, documents._replace(size=before + documents.size))
            del documents  # frees its memory for the next batch
        before += max(file.size, 0)


def bundles(batches: Iterable[Batch], batch_bytes: int) -> Generator[list[Batch], None, None]:
    """Gather small batches, as of many small files, into lists. Batches read before an error are yielded first."""
    gathered: list[Batch] = []
    size, enough = 0, min(batch_bytes, _BUNDLE_BYTES)
    try:
        for batch in batches:
            gathered.append(batch)
            size += int((batch.documents.ends - batch.documents.begins).sum())
            if size >= enough or len(gathered) == _BUNDLE:
                yield gathered
                gathered, size = [], 0
            del batch
    except Exception:
        if gathered:
            yield gathered
        raise
    if gathered:
        yield gathered


class Encoded(NamedTuple):
    """The encoded documents of some batches, without the documents that `choosing` leaves out."""

    ids: npt.NDArray[Any]
    splits: npt.NDArray[np.int64]
    bad: list[BadRecord]
    counts: Counts
    """Counts of these documents, but `input_bytes` includes earlier files."""


def encoded(
    batches: Sequence[Batch], files: Sequence[InputFile], choice: choosing.Choice, encoder: DocumentEncoder
) -> Encoded:
    """Encode batches of `files` in one call."""
    parts, left_out = [], np.zeros(4, np.int64)
    for number, (data, begins, ends, *_) in batches:
        codes = choice.codes(data, begins, ends, files[number])
        if codes is not None:
            left_out += np.bincount(codes, minlength=4)
            begins, ends = begins[codes == choosing.TAKEN], ends[codes == choosing.TAKEN]
        parts.append((data, begins, ends))
    ids, splits = encoder.encode(*joined(parts))
    bad = [record for batch in batches for record in batch.documents.bad]
    counts = Counts(
        len(splits) - 1,
        int(splits[-1]),
        sum(int((ends - begins).sum()) for _, begins, ends in parts),
        batches[-1].documents.size,
        len(bad),
        *map(int, left_out[choosing.DUPLICATE :]),
    )
    return Encoded(ids, splits, bad, counts)


class Shuffler:
    """Documents kept on disk, as their ids in sequence and the end of each, to be read in random order.

    Uses no memory while they are written, and 16 bytes a document while they are read.
    """

    def __init__(self, directory: str, dtype: np.dtype[Any]) -> None:
        """Keep the documents in temporary files in `directory`."""
        self._tokens = Spool(os.path.join(directory, "tokens"), dtype)
        self._ends = Spool(os.path.join(directory, "ends"), "<i8")

    def write(self, ids: npt.NDArray[Any], splits: npt.NDArray[np.int64]) -> None:
        """Append documents."""
        self._ends.append(splits[1:] - splits[0] + self._tokens.count)
        self._tokens.append(ids)

    def shuffled(self, seed: int) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """Yield batches of documents as (ids, row_splits).

        The order is ``numpy.random.default_rng(seed).permutation(documents)``, like datatrove's.
        """
        ends = np.concatenate([np.zeros(0, np.int64), *self._ends.blocks()])
        tokens = self._tokens.mapped()
        order = np.random.default_rng(seed).permutation(len(ends))
        while len(order):
            chosen = order[:_BATCH_DOCUMENTS]
            lengths = ends[chosen] - np.where(chosen > 0, ends[chosen - 1], 0)
            splits = np.zeros(len(chosen) + 1, np.int64)
            np.cumsum(lengths, out=splits[1:])
            count = max(1, int(splits.searchsorted(_BATCH_TOKENS, side="right")) - 1)
            stops = ends[chosen[:count]]
            ranges = zip((stops - lengths[:count]).tolist(), stops.tolist(), strict=True)
            yield np.concatenate([tokens[begin:end] for begin, end in ranges]), splits[: count + 1]
            order = order[count:]

    def close(self) -> None:
        """Delete the files."""
        self._tokens.close()
        self._ends.close()

"""The documents of several files one after the other, from a checkpoint on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.job.state import Checkpoint
from crayon_hf.text_readers.documents import BadRecord, InputFile, Position, Reading
from crayon_hf.text_readers.files import read_documents

_BUNDLE_BYTES = 1 << 20
_BUNDLE = 256
"""Small batches are encoded together: so many at most, of so many bytes."""


class Batch(NamedTuple):
    """Documents of one file."""

    data: Any
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    bad: list[BadRecord]
    """Each with its `place` among these documents."""
    before: Checkpoint
    """Where this batch begins."""
    after: Checkpoint
    input_bytes: int
    """Of all files so far, with this batch."""


def at(batch: Batch, document: int) -> Checkpoint:
    """Where a document of a batch begins, and the bad records before it are done."""
    done = batch.before.documents or 0
    return batch.before._replace(documents=done + document)


def read_batches(files: Sequence[InputFile], reading: Reading, start: Checkpoint) -> Iterator[Batch]:
    """All documents from a checkpoint on, and all bad records that it does not count as done."""
    before = sum(max(file.size, 0) for file in files[: start.file])
    for index in range(start.file, len(files)):
        here = start if index == start.file else Checkpoint(index)
        begin = None if here.position is None else Position(*here.position)
        done = here.documents
        for documents in read_documents(files[index], reading, begin):
            count = len(documents.begins)
            dropped = 0 if done is None else min(done, count)
            bad = [
                record._replace(place=record.place - dropped)
                for record in documents.bad
                if done is None or record.place > done
            ]
            after = Checkpoint(index, list(documents.position))
            was = Checkpoint(index, here.position, None if done is None else dropped)
            if count > dropped or bad:
                begins, ends = documents.begins[dropped:], documents.ends[dropped:]
                yield Batch(documents.data, begins, ends, bad, was, after, before + documents.size)
            # Bad records before the next document are done as well, so nothing is new before a document is kept.
            done = None if done is None or count > done else done - dropped
            here = after
            del documents
        before += max(files[index].size, 0)


def bundles(batches: Iterable[Batch], batch_bytes: int) -> Iterator[list[Batch]]:
    """Batches, and several small ones together: there may be a file to each. What was read before an error is given."""
    gathered: list[Batch] = []
    size, enough = 0, min(batch_bytes, _BUNDLE_BYTES)
    try:
        for batch in batches:
            gathered.append(batch)
            size += len(batch.data)
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

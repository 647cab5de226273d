"""Batches of documents with their ids, and which documents of a batch are taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.encoder import DocumentEncoder
from crayon_hf.corpora.job.state import Counts
from crayon_hf.corpora.job.task_batches import Batch
from crayon_hf.text_readers.batches import joined
from crayon_hf.text_readers.documents import InputFile


class Encoded(NamedTuple):
    """A batch, and the ids of its documents."""

    batch: Batch
    """Without its text."""
    ids: npt.NDArray[Any]
    """Of those documents of the batch that are taken."""
    splits: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint8] | None
    """Why documents of the batch are taken or not (`crayon_hf.corpora.job.choosing`); None: all are."""

    def place(self, document: int) -> int:
        """Where in the batch one of the documents that are taken is."""
        if self.codes is None:
            return document
        taken = (self.codes == choosing.TAKEN).nonzero()[0]
        return int(taken[document]) if document < len(taken) else len(self.codes)

    def counted(self, began: Counts, document: int | None, bad: int) -> Counts:
        """What is done with all before a document of these (None: with all), and so many bad records."""
        batch = self.batch
        count = len(self.splits) - 1 if document is None else document
        place = len(batch.begins) if document is None else self.place(document)
        lengths = batch.ends[:place] - batch.begins[:place]
        left_out = np.zeros(4, np.int64)
        if self.codes is not None:
            lengths = lengths[self.codes[:place] == choosing.TAKEN]
            left_out = np.bincount(self.codes[:place], minlength=4)
        return Counts(
            began.documents + count,
            began.tokens + int(self.splits[count]),
            began.text_bytes + int(lengths.sum()),
            batch.input_bytes,
            began.bad_records + bad,
            began.duplicates + int(left_out[choosing.DUPLICATE]),
            began.held_out + int(left_out[choosing.OTHER_SIDE]),
            began.not_chosen + int(left_out[choosing.NOT_CHOSEN]),
        )


def encoded(
    batches: Sequence[Batch], files: Sequence[InputFile], choice: choosing.Choice, encoder: DocumentEncoder
) -> list[Encoded]:
    """Batches of these files with their ids, encoded in one call."""
    parts, found = [], []
    for batch in batches:
        codes = choice.codes(batch.data, batch.begins, batch.ends, files[batch.after.file])
        begins, ends = batch.begins, batch.ends
        if codes is not None:
            begins, ends = begins[codes == choosing.TAKEN], ends[codes == choosing.TAKEN]
        parts.append((batch.data, begins, ends))
        found.append(codes)
    ids, splits = encoder.encode(*joined(parts))
    made, first = [], 0
    for batch, (_, begins, _), codes in zip(batches, parts, found, strict=True):
        last = first + len(begins)
        rows = splits[first : last + 1] - splits[first]
        made.append(Encoded(batch._replace(data=None), ids[splits[first] : splits[last]], rows, codes))
        first = last
    return made

"""Choose which documents a job writes: by each text alone, or for deduplication by the hashes of all texts.

A text is hashed to 128 bits (BLAKE2b). The first 64 decide whether it is held out (``held_out``), the others whether a
partly read source includes it. So equal texts are always held out together, whatever their file and order.

Deduplication reads the inputs twice. First each task writes the hashes of its documents. Then `choose` marks the
first document of each text, in the order of the tasks. Layout beside the output ``OUT/NAME``::

    OUT/_crayon/NAME.hashes  16 bytes a document; uint64 documents of each file; uint64 files
    OUT/_crayon/NAME.chosen  one byte a document: TAKEN, DUPLICATE, OTHER_SIDE or NOT_CHOSEN
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.job.job_spec import gone
from crayon_hf.corpora.job.options import Options
from crayon_hf.errors import JobError
from crayon_hf.text_readers.addresses import is_local
from crayon_hf.text_readers.documents import InputFile

TAKEN, DUPLICATE, OTHER_SIDE, NOT_CHOSEN = range(4)
_PART = 1 << 25
"""Documents whose hashes are compared at a time."""


def hashes_of(data: Any, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Hashes of the documents ``data[begins[i]:ends[i]]``, of shape (documents, 2)."""
    view, ranges = memoryview(data), zip(begins.tolist(), ends.tolist(), strict=True)
    digests = b"".join([blake2b(view[begin:end], digest_size=16).digest() for begin, end in ranges])
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


def by_text(hashes: npt.NDArray[np.uint64], options: Options, share: float) -> npt.NDArray[np.uint8]:
    """Return a code for each document of a file, by its hashes.

    OTHER_SIDE: it is held out and this job writes the other documents, or the reverse. NOT_CHOSEN: it is not in the
    `share` of the file's documents that the job takes. Otherwise TAKEN.
    """
    codes = np.zeros(len(hashes), np.uint8)
    if options.held_out is not None:
        is_held_out = hashes[:, 0] < np.uint64(options.held_out * 2.0**64)
        codes[is_held_out != options.is_held_out] = OTHER_SIDE
    if share < 1:
        turned = hashes[:, 1] + np.uint64(options.seed * 0x9E3779B97F4A7C15 % 2**64)  # another seed chooses others
        codes[turned >= np.uint64(share * 2.0**64)] = NOT_CHOSEN
    return codes


class Choice:
    """Tells of each document of a task, in order, whether the job takes it."""

    def __init__(self, path: str, options: Options) -> None:
        """`path` is the path of the task's state file, without its suffix."""
        self._options, self._next = options, 0
        self._chosen: npt.NDArray[np.uint8] | None = None
        if options.deduplicate:
            if (data := storage.of(path).read(f"{path}.chosen")) is None:
                raise gone(f"{path}.chosen")
            self._chosen = np.frombuffer(data, np.uint8)

    def codes(
        self, data: Any, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], file: InputFile
    ) -> npt.NDArray[np.uint8] | None:
        """Return a code for each of the next documents of `file`, or None if the job takes all of them."""
        first, self._next = self._next, self._next + len(begins)
        if self._chosen is not None:
            return self._chosen[first : self._next]
        if self._options.held_out is None and file.share >= 1:
            return None
        return by_text(hashes_of(data, begins, ends), self._options, file.share)


def choose(tasks: Sequence[tuple[str, Sequence[InputFile]]], options: Options) -> None:
    """Mark each document of the tasks as taken or not, in the files ``NAME.chosen``.

    A task is the path of its state file without suffix, and its input files. Of equal documents the first is taken; if
    its file is read again, it is taken again. Memory: 45 bytes for each of at most 2**25 documents, and 1 byte for
    every document.
    """
    numbers: dict[str, int] = {}
    read = []
    for path, files in tasks:
        hashes, counts = _read(f"{path}.hashes", len(files))
        ids = np.array([numbers.setdefault(file.address, len(numbers)) for file in files], np.int64)
        codes = np.concatenate(
            [np.zeros(0, np.uint8)]
            + [
                by_text(hashes[end - count : end], options, file.share)
                for end, count, file in zip(np.cumsum(counts).tolist(), counts.tolist(), files, strict=True)
            ]
        )
        read.append((hashes, ids, counts, codes))
    parts = -(-sum(len(codes) for *_, codes in read) // _PART)
    for part in range(parts):
        _compare(read, part, parts)
    for (path, _), (*_, codes) in zip(tasks, read, strict=True):
        storage.of(path).place(f"{path}.chosen", [codes.tobytes()])


def _compare(read: list[Any], part: int, parts: int) -> None:
    """Mark duplicates among the documents of part `part`, to which their hashes assign them."""
    found = []
    for hashes, ids, counts, codes in read:
        places = np.flatnonzero((codes == TAKEN) & (hashes[:, 0] % np.uint64(parts) == part))
        starts = np.cumsum(counts) - counts
        file = np.searchsorted(starts, places, side="right") - 1
        # A file without documents starts where the next file does. Of files with one start, the last has the document.
        found.append((hashes[places], (ids[file] << 40) + places - starts[file], places))
    hashes = np.concatenate([each[0] for each in found])
    document = np.concatenate([each[1] for each in found])
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))  # stable: equal texts keep their order
    ordered = hashes[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = document[order][np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))]
    is_duplicate = np.zeros(len(order), bool)
    is_duplicate[order] = document[order] != first
    end = 0
    for (*_, codes), (_, _, places) in zip(read, found, strict=True):
        codes[places[is_duplicate[end : end + len(places)]]] = DUPLICATE
        end += len(places)


def _read(path: str, files: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """Read a task's hashes. Return those of all documents, and the number of documents of each file."""
    place, tail = storage.of(path), 8 * (files + 1)
    if (size := place.size(path)) < 0:
        raise gone(path)
    counts = np.zeros(1, np.uint64)
    if size >= tail and size % 8 == 0:
        data: Any = np.memmap(path, "u1", "r") if is_local(path) else np.frombuffer(place.read(path) or b"", "u1")
        if len(data) == size:  # unlike a file that another process has just removed
            counts = data[-tail:].view("<u8")
    if counts[-1] != files or size != len(data) or size != tail + 16 * int(counts[:-1].sum()):
        raise JobError(f"{path} is damaged: begin anew with --overwrite (overwrite=True)")
    return data[:-tail].view("<u8").reshape(-1, 2), counts[:-1].astype(np.int64)

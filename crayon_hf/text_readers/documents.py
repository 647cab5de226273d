"""The types that all readers share: input files, settings, batches of documents, and bad records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from crayon_hf.errors import BadRecordError, CorpusError
from crayon_hf.text_readers.compression import PACKINGS
from crayon_hf.text_readers.template import Template
from crayon_hf.util import validation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FORMATS = ("text", "jsonl", "csv", "tsv", "parquet", "arrow")
BAD_RECORDS = ("stop", "skip", "replace")
DEFAULT_COLUMN = "text"
BATCH_BYTES = 16 << 20
MAX_DOCUMENT_BYTES = 256 << 20

ENDINGS = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
}
"""The format by the ending of a name."""

_SHOWN_COLUMNS = 20


class InputFile(NamedTuple):
    """A file to read, as `find_inputs` found it."""

    address: str
    """A path, or an address of fsspec."""
    size: int
    """The number of bytes as stored, or -1 if the storage does not report it."""
    mark: str = ""
    """A modification time or an ETag, which changes when the file does. Empty if the storage has neither."""
    share: float = 1.0
    """The share of the file's documents that a mixture takes. The hash of each text decides."""


class BadRecord(NamedTuple):
    """A record that cannot become a document."""

    address: str
    number: int
    """The number of the record in the file, from 1. It counts lines, rows or documents, as `what` says."""
    what: Literal["line", "row", "document"]
    reason: str
    place: int
    """The index in the batch of the document that replaces the record. For a record left out, the next document's."""

    def error(self) -> BadRecordError:
        """Return an exception that names the file, the record and the reason."""
        return BadRecordError(f"{self.address}, {self.what} {self.number}: {self.reason}")


class Documents(NamedTuple):
    """Concatenated documents: document i is ``data[begins[i]:ends[i]]``, which is valid UTF-8."""

    data: memoryview
    """The bytes. They do not change while this view, a slice of it or an array over it exists."""
    begins: npt.NDArray[np.int64]
    """The starts in bytes, of shape (documents,)."""
    ends: npt.NDArray[np.int64]
    """The ends in bytes, of shape (documents,)."""
    bad: list[BadRecord]
    """The records that were skipped or replaced, in the file's order."""
    size: int
    """For progress: the number of stored bytes of the file that were read up to the end of this batch."""


class Reading(NamedTuple):
    """The settings for reading files."""

    format: str | None = None
    """One of FORMATS. None chooses by the ending of the file's name."""
    column: str = DEFAULT_COLUMN
    """The column, or member of a JSON object, that is the text."""
    template: str | None = None
    """Instead of `column`: a text made of several columns, as ``"{title}\\n\\n{text}"``; ``{{``, ``}}`` are braces."""
    separator: bytes | None = None
    """The separator between two documents of a text file. If None, a file is one document."""
    bad_records: str = "stop"
    """``stop`` raises BadRecordError. ``skip`` leaves the record out and lists it in `Documents.bad`. ``replace`` lists
    the record, too, and replaces it by an empty document. For invalid UTF-8 the document is the text with U+FFFD for
    each maximal invalid part or lone surrogate.
    """
    skips_nulls: bool = False
    """Whether a null is left out, as a blank line is. Otherwise a null is a bad record."""
    batch_bytes: int = BATCH_BYTES
    """The approximate size of a batch in bytes."""
    max_document_bytes: int = MAX_DOCUMENT_BYTES
    """A longer text or JSON line is a bad record. The U+FFFD of ``replace`` may make a text longer than this."""
    threads: int = 0
    """The number of threads that parse. 0 means one for each core."""

    def check(self) -> None:
        """Raise ValueError, TypeError or OverflowError for an invalid setting."""
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f"format is {self.format!r}, expected one of {', '.join(FORMATS)}")
        if self.bad_records not in BAD_RECORDS:
            raise ValueError(f"bad_records is {self.bad_records!r}, expected one of {', '.join(BAD_RECORDS)}")
        validation.text(self.column, "column")
        if self.template is not None:
            Template(self.template)
        if self.separator is not None and not (isinstance(self.separator, bytes) and self.separator):
            raise ValueError(f"separator is {self.separator!r}, expected bytes, at least one")
        for name in ("batch_bytes", "max_document_bytes"):
            if validation.unsigned(getattr(self, name), name, 40) == 0:
                raise ValueError(f"{name} is 0, expected at least 1")
        validation.unsigned(self.threads, "threads", 16)
        if self.separator is not None and self.format not in (None, "text"):
            raise ValueError(f"separator is for text files, and format is {self.format!r}")
        if self.format == "text" and (self.template is not None or self.column != DEFAULT_COLUMN):
            raise ValueError("column and template are for files with columns, and format is 'text'")

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return [self.column] if self.template is None else Template(self.template).columns


def check_columns(names: Sequence[str], wanted: Sequence[str], address: str) -> None:
    """Raise CorpusError if one of the columns `wanted` is missing or repeated among the `names` of a file."""
    for column in wanted:
        if (count := list(names).count(column)) != 1:
            there = "more than one column" if count else "no column"
            known = ", ".join(map(repr, names[:_SHOWN_COLUMNS])) or "none"
            more = f" and {len(names) - _SHOWN_COLUMNS} more" if len(names) > _SHOWN_COLUMNS else ""
            hint = "(--column (column=) says which is the text)"
            raise CorpusError(f"{address} has {there} {column!r}; it has {known}{more} {hint}")


def format_of(name: str) -> tuple[str | None, str]:
    """Return the format of a file by its name, or None, and the ending of its compression, or ``""``."""
    if "::" in name or "://" in name:  # the file's own name is in the first part that has a protocol
        name = next((part for part in name.split("::") if "://" in part), name)
        name = re.split("[?#]", name)[0] if name.startswith("http") else name
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    packing = next((ending for ending in PACKINGS if base.endswith(ending)), "")
    base = base[: len(base) - len(packing)]
    ending = next((ending for ending in ENDINGS if base.endswith(ending)), None)
    return (None if ending is None else ENDINGS[ending]), packing

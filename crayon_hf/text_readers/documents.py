"""The types of reading: files, settings, batches of documents, bad records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from crayon_hf.errors import BadRecordError
from crayon_hf.text_readers.compression import PACKINGS
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
"""The format that a name's ending says."""

_SHOWN_COLUMNS = 20


class InputFile(NamedTuple):
    """A file to read, as `find_inputs` found it."""

    address: str
    """A path, or an address of fsspec."""
    size: int
    """Bytes as stored; -1 where the place that it is in does not say."""
    mark: str = ""
    """Changes when the file does: a time of modification, an ETag. Empty where there is no such thing."""
    share: float = 1.0
    """In a mixture: how much of it is taken, by the hash of each text."""


class BadRecord(NamedTuple):
    """A record that is no document."""

    address: str
    number: int
    """Which line, row or document of the file, from 1."""
    what: Literal["line", "row", "document"]
    reason: str
    place: int
    """Which document of the batch it lay before, or which one replaces it."""

    def error(self) -> BadRecordError:
        """It as an exception."""
        return BadRecordError(f"{self.address}, {self.what} {self.number}: {self.reason}")


class Documents(NamedTuple):
    """Documents one after the other: document i is ``data[begins[i]:ends[i]]``, which is UTF-8."""

    data: memoryview
    """Bytes. They stay as they are while anything shows them: this view, slices of it, arrays over it."""
    begins: npt.NDArray[np.int64]
    """(documents,)"""
    ends: npt.NDArray[np.int64]
    """(documents,)"""
    bad: list[BadRecord]
    """What was skipped or replaced, in the file's order."""
    size: int
    """Bytes of the file, as stored, that are read with this batch: for progress."""


class Reading(NamedTuple):
    """How files are read."""

    format: str | None = None
    """One of FORMATS; None: the name's ending says it."""
    column: str = DEFAULT_COLUMN
    """Which member of a JSON object, or which column, is the text."""
    template: str | None = None
    """Instead of `column`: a text made of several columns, as ``"{title}\\n\\n{text}"``; ``{{``, ``}}`` are braces."""
    separator: bytes | None = None
    """What is between two documents of a text file; None: a file is one document."""
    bad_records: str = "stop"
    """``stop``: BadRecordError. ``skip``: left out, and listed. ``replace``: an empty document takes its place, or,
    where only its UTF-8 is wrong, its text with U+FFFD for each maximal invalid part (or lone surrogate); listed."""
    batch_bytes: int = BATCH_BYTES
    """About how many bytes a batch has."""
    max_document_bytes: int = MAX_DOCUMENT_BYTES
    """A text, or a JSON line, of more bytes is a bad record. (A text with U+FFFD may be longer.)"""
    threads: int = 0
    """Threads to unpack and to parse with; 0: as many as there are cores."""

    def check(self) -> None:
        """ValueError, TypeError or OverflowError for a setting that makes no sense."""
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f"format is {self.format!r}, expected one of {', '.join(FORMATS)}")
        if self.bad_records not in BAD_RECORDS:
            raise ValueError(f"bad_records is {self.bad_records!r}, expected one of {', '.join(BAD_RECORDS)}")
        validation.text(self.column, "column")
        if self.template is not None:
            from crayon_hf.text_readers.template import Template

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
        """The columns that are read."""
        if self.template is None:
            return [self.column]
        from crayon_hf.text_readers.template import Template

        return Template(self.template).columns


def columns_there(names: Sequence[str]) -> str:
    """The end of a message about a missing column: which there are, and how to name another one."""
    known = ", ".join(map(repr, names[:_SHOWN_COLUMNS])) or "none"
    more = f" and {len(names) - _SHOWN_COLUMNS} more" if len(names) > _SHOWN_COLUMNS else ""
    return f"; it has {known}{more} (--column (column=) says which is the text)"


def format_of(name: str) -> tuple[str | None, str]:
    """The format that a file's name says (None: it does not), and the ending of its packing, ``""`` for none."""
    if "::" in name or "://" in name:  # the file's own name is in the first part that has one
        name = next((part for part in name.split("::") if "://" in part), name)
        name = re.split("[?#]", name)[0] if name.startswith("http") else name
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    packing = next((ending for ending in PACKINGS if base.endswith(ending)), "")
    base = base[: len(base) - len(packing)]
    ending = next((ending for ending in ENDINGS if base.endswith(ending)), None)
    return (None if ending is None else ENDINGS[ending]), packing

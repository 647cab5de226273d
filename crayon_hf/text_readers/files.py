"""Reads the documents of a file of any supported format, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.csv_rows import csv_documents
from crayon_hf.text_readers.documents import DEFAULT_COLUMN, ENDINGS, Documents, InputFile, Reading, format_of
from crayon_hf.text_readers.json_lines import json_documents
from crayon_hf.text_readers.plain_text import text_documents
from crayon_hf.text_readers.stored import Stored, Stream
from crayon_hf.text_readers.tables import column_documents, pyarrow_for
from crayon_hf.util.wording import joined

_SMALL = 1 << 16


def read_documents(file: InputFile, reading: Reading) -> Iterator[Documents]:
    """Read the documents of `file` in order, in batches.

    The memory needed is a few times `reading.batch_bytes`, or for a longer document a few times its size (up to
    `max_document_bytes`). A local Arrow file is mapped: if another program truncates it meanwhile, reading may raise
    SIGBUS, which ends the process.

    Raises:
        CorpusError: The file cannot be read or unpacked, lacks a column, or has changed since it was found. The message
            names the file.
        BadRecordError: A record is bad, and ``bad_records`` is ``"stop"``.
    """
    reading.check()
    kind, packing = _kind(file, reading)
    return _read(file, reading, kind, packing)


def check_files(files: Sequence[InputFile], reading: Reading) -> None:
    """Check that `reading` fits all these files together, by their names alone, before any of them is read.

    Raise CorpusError for a file that `read_documents` would refuse by its name. Also raise it for a setting that fits
    none of the files: a separator without a text file, or a column (other than "text") with text files alone. Raise
    ValueError as `Reading.check` does, and MissingExtraError if ``pyarrow`` is needed and not installed.
    """
    reading.check()
    kinds = {_kind(file, reading)[0]: file.address for file in files}
    for kind in kinds.keys() & {"parquet", "arrow"}:
        pyarrow_for(kinds[kind], kind)
    if reading.separator is not None and kinds and "text" not in kinds:
        raise CorpusError(f"a separator is for text files, but the inputs are {joined(sorted(kinds))} files only")
    if reading.column != DEFAULT_COLUMN and kinds.keys() == {"text"}:
        raise CorpusError(f"the column {reading.column!r} is for files with columns, but all inputs are text files")


def _kind(file: InputFile, reading: Reading) -> tuple[str, str]:
    """Return the format of a file, and the ending of its compression."""
    said, packing = format_of(file.address)
    kind = reading.format or said
    if kind is None:
        endings = ", ".join(ENDINGS)
        raise CorpusError(
            f"{file.address}: the name has no known ending ({endings}): give the format with --input-format "
            "(input_format=)"
        )
    if kind in ("parquet", "arrow") and packing:
        raise CorpusError(f"{file.address}: it holds a {kind} file: unpack it first")
    if kind == "text" and reading.template is not None:
        raise CorpusError(f"{file.address}: a template is for files with columns, and this one is text")
    return kind, packing


def read_stream(source: Stream, reading: Reading) -> Iterator[Documents]:
    """Do the same as `read_documents` for an open stream of the format `reading.format`: JSON lines, CSV or TSV."""
    reading.check()
    return _rows(source, reading, str(reading.format))


def _read(file: InputFile, reading: Reading, kind: str, packing: str) -> Iterator[Documents]:
    with Stored(file, packing) as source:
        if kind in ("parquet", "arrow"):
            yield from column_documents(source, reading, kind)
        else:
            known = file.size if not packing else 8 * file.size
            block_bytes = reading.batch_bytes if file.size < 0 else min(reading.batch_bytes, known + _SMALL)
            yield from _rows(source, reading, kind, block_bytes)


def _rows(source: Stored | Stream, reading: Reading, kind: str, block_bytes: int = 0) -> Iterator[Documents]:
    block_bytes = block_bytes or reading.batch_bytes
    if kind == "jsonl":
        return json_documents(source, reading, block_bytes)
    if kind == "text":
        return text_documents(source, reading, block_bytes)
    return csv_documents(source, reading, kind)

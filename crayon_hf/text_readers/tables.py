"""Columns of Parquet and Arrow files as documents. Reading them needs ``pyarrow``, from the extra ``corpora``."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from crayon_hf.errors import CorpusError, CrayonError
from crayon_hf.text_readers.addresses import is_local, local_path
from crayon_hf.text_readers.arrow_ranges import check_type, ranges_of
from crayon_hf.text_readers.batches import Batch, Column, Ranges, assembled, wrong_texts
from crayon_hf.text_readers.documents import Documents, Reading, check_columns
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.template import Template
from crayon_hf.util.damage import damage_in
from crayon_hf.util.extras import needed

_ROWS = 4096
_READ = 1 << 20
_FORGET = 1 << 25
"""The pages of a mapped file are released after this number of bytes, since they count as the process's memory."""
_COST = 16
"""The overhead of a row, in bytes, besides its text."""

_Rows = tuple[list[Any], int]
"""Consecutive rows of a table: an Arrow array for each column, and the approximate number of bytes of the file read up
to the end of these rows."""


def _batches(batches: Iterator[Any], address: str, kind: str, before: Callable[[], None]) -> Iterator[Any]:
    """Yield Arrow batches, with readable errors. Call `before` before each of them is read."""
    while True:
        with _readable(address, kind):
            before()
            if (batch := next(batches, None)) is None:
                return
        yield batch


def _parquet_rows(source: Stored, columns: Sequence[str], batch_bytes: int) -> Iterator[_Rows]:
    """Yield the rows of a parquet file."""
    address, size = source.file.address, source.file.size
    arrow = pyarrow_for(address, "parquet")
    with _readable(address, "parquet"):
        from pyarrow import parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]

        # Read page by page: row groups can have any size.
        file = parquet.ParquetFile(
            arrow.PythonFile(source.raw, mode="r"),
            buffer_size=_READ,
            pre_buffer=False,
            page_checksum_verification=True,
        )
        _check(file.schema_arrow, address, columns)
        metadata = file.metadata
    done = expected = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        mean = group.total_byte_size // max(group.num_rows, 1)  # reading a column's size may crash pyarrow
        rows = max(1, min(_ROWS, batch_bytes // (mean + 1)))
        expected += group.num_rows
        found = file.iter_batches(rows, [number], list(columns))
        for batch in _batches(found, address, "parquet", lambda: None):
            done += len(batch)
            yield [batch.column(name) for name in columns], max(size, 0) * done // metadata.num_rows
        if done != expected:
            raise CorpusError(f"{address}: not a readable parquet file: {done} rows, but its metadata says {expected}")
    source.check("while it was read")


def _arrow_rows(source: Stored, columns: Sequence[str]) -> Iterator[_Rows]:
    """Yield the rows of an Arrow file, or of a file with an Arrow stream, which ``datasets`` writes."""
    address, size = source.file.address, source.file.size
    arrow = pyarrow_for(address, "arrow")
    mapped: mmap.mmap | None = None
    with _readable(address, "Arrow"):
        if is_local(address) and size > 0:
            mapped = mmap.mmap(source.raw.fileno(), 0, access=mmap.ACCESS_READ)
            file: Any = arrow.BufferReader(arrow.py_buffer(mapped))
        else:
            file = arrow.PythonFile(source.raw, mode="r")
        random = file.read(6) == b"ARROW1"
        open_it = arrow.ipc.open_file if random else arrow.ipc.open_stream
        file.seek(0)
        schema = open_it(file).schema
        _check(schema, address, columns)
        file.seek(0)
        wanted = sorted(schema.get_field_index(name) for name in columns)  # other columns are not unpacked
        reader = open_it(file, options=arrow.ipc.IpcReadOptions(included_fields=wanted))
    batches = map(reader.get_batch, range(reader.num_record_batches)) if random else iter(reader)
    shown = 0

    def check() -> None:
        if mapped is not None:
            source.check("while it was read")  # reading a truncated map raises SIGBUS

    for number, batch in enumerate(_batches(batches, address, "Arrow", check), 1):
        with _readable(address, "Arrow"):
            done = size * number // reader.num_record_batches if random else int(file.tell())
            done = size if not random and 0 <= size <= done + 8 else done  # 8 bytes follow the last batch
        for row in range(0, len(batch), _ROWS):
            check()
            part = batch.slice(row, _ROWS)
            yield [part.column(name) for name in columns], done
            shown += part.nbytes
            if mapped is not None and shown > _FORGET:
                _forget(mapped)
                shown = 0
    source.check("while it was read")
    if not random and 0 <= size != file.tell() and any(file.read(8)):
        raise CorpusError(f"{address}: not a readable Arrow file: data follows the end of its stream")


def _forget(mapped: mmap.mmap) -> None:
    """Release the pages of a map. Pages that arrays still use are read again."""
    with contextlib.suppress(AttributeError, OSError):  # not all systems have madvise
        mapped.madvise(mmap.MADV_DONTNEED)


def pyarrow_for(address: str, kind: str) -> Any:
    """Import ``pyarrow``. Raise MissingExtraError if it is not installed."""
    with needed(f"{address}: reading {kind}", "corpora"):
        import pyarrow
    return pyarrow


@contextlib.contextmanager
def _readable(address: str, kind: str) -> Iterator[None]:
    """Turn pyarrow's errors about a damaged file into CorpusError."""
    import pyarrow

    try:
        yield
    except CrayonError:
        raise
    except (pyarrow.ArrowException, ValueError, LookupError, MemoryError) as error:  # e.g. names that are not UTF-8
        if (damage := damage_in(local_path(address)) if is_local(address) else None) is not None:
            raise CorpusError(f"{address} {damage}") from error
        raise CorpusError(f"{address}: not a readable {kind} file: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise CorpusError(f"{address}: {error.strerror or error}") from error
        raise CorpusError(f"{address}: not a readable {kind} file: {error}") from error


def _check(schema: Any, address: str, columns: Sequence[str]) -> None:
    """Raise CorpusError if a column is missing, occurs twice, or has no strings."""
    check_columns(schema.names, columns, address)
    for column in columns:
        try:
            check_type(schema.field(column).type)
        except CorpusError as error:
            raise CorpusError(f"{address}: column {column!r} {error}") from None


def column_documents(source: Stored, reading: Reading, kind: str) -> Iterator[Documents]:
    """Yield the documents of a file of the format `kind`, parquet or arrow."""
    if kind == "parquet":
        rows = _parquet_rows(source, reading.columns, reading.batch_bytes)
    else:
        rows = _arrow_rows(source, reading.columns)
    template = None if reading.template is None else Template(reading.template)
    number = 0
    for arrays, done in rows:
        columns, sizes, null = _ranges(arrays, source.file.address, reading, template)
        costs = np.cumsum(sizes + _COST)
        begin = 0
        while begin < len(costs):  # as many rows as fit the batch, but at least one
            before = int(costs[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(costs, before + reading.batch_bytes, "right")), begin + 1)
            batch = Batch(reading, source.file.address, "row", number + begin + 1)
            part = [Column(name, view, begins[begin:end], ends[begin:end]) for name, view, begins, ends in columns]
            nulls = null[begin:end]
            if reading.skips_nulls:
                batch.blank(np.flatnonzero(nulls >= 0).tolist())
            for i, reason, text in wrong_texts(part, sizes[begin:end], nulls, reading, template):
                if nulls[i] < 0 or not reading.skips_nulls:
                    batch.bad(i, reason, text)
            texts = part[0][1:] if template is None else assembled(template, part)
            yield batch.documents(*texts, done)
            begin = end
        number += len(costs)


def _ranges(
    arrays: list[Any], address: str, reading: Reading, template: Template | None
) -> tuple[list[Column], Ranges, Ranges]:
    """Return the columns, each row's size of text in bytes, and each row's first null column (its index, or -1).

    UTF-8 is not checked yet.
    """
    columns: list[Column] = []
    null = np.full(len(arrays[0]), -1, np.int64)
    for i, (name, array) in enumerate(zip(reading.columns, arrays, strict=True)):
        try:
            view, begins, ends, valid = ranges_of(array)
        except CorpusError as error:
            raise CorpusError(f"{address}: column {name!r} {error}") from error
        if valid is not None:
            null[~valid & (null < 0)] = i
            ends = np.where(valid, ends, begins)
        columns.append(Column(name, view, begins, ends))
    sizes = [ends - begins for *_, begins, ends in columns]
    return columns, sizes[0] if template is None else template.sizes(sizes), null

"""Parquet and Arrow files: one column of strings. They are read by ``pyarrow``, a part of the extra ``training``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.text_readers.tables import check_columns, pyarrow_for, readable
from crayon_hf.training_data.batches import Texts

_ROWS = 1024


def parquet_batches(path: str, size: int, column: str) -> Iterator[Texts]:
    """The strings of a parquet file's column; a null is no text."""
    pyarrow_for(path, "parquet")
    from pyarrow import parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with readable(path, "parquet"), parquet.ParquetFile(path) as file:
        check_columns(file.schema_arrow, path, [column])
        batches = file.iter_batches(batch_size=_ROWS, columns=[column])
        yield from _texts(batches, path, column, size, file.metadata.num_rows)


def arrow_batches(path: str, size: int, column: str) -> Iterator[Texts]:
    """The same of an Arrow file, or of an Arrow stream in a file, which is what ``datasets`` writes."""
    arrow = pyarrow_for(path, "arrow")
    with readable(path, "Arrow"), arrow.memory_map(path) as mapped:
        try:
            file = arrow.ipc.open_file(mapped)
        except arrow.ArrowInvalid:
            mapped.seek(0)
            reader = arrow.ipc.open_stream(mapped)
            check_columns(reader.schema, path, [column])
            batches: Any = iter(reader)
        else:
            check_columns(file.schema, path, [column])
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
        pieces = (batch.select([column]).slice(i, _ROWS) for batch in batches for i in range(0, len(batch), _ROWS))
        yield from _texts(pieces, path, column, size, 0)


def _texts(batches: Any, path: str, column: str, size: int, rows: int) -> Iterator[Texts]:
    seen = 0
    for batch in batches:
        cells = batch.column(0)
        try:
            cells.validate(full=True)  # nothing else looks at the offsets of a damaged file
        except ValueError as error:
            if "UTF8" not in str(error):
                raise
            raise InvalidUtf8Error(f"{path}: row {seen + _first_bad(cells)} of {column!r} is not UTF-8") from None
        values = cells.to_pylist()
        numbers = [seen + i for i, value in enumerate(values) if value is not None]
        seen += len(values)
        yield Texts(
            [value for value in values if value is not None],
            lambda i, numbers=numbers: f"{path}: row {numbers[i]} of {column!r}",  # type: ignore[misc]
            size * seen // rows if rows else 0,
        )


def _first_bad(cells: Any) -> int:
    for i, cell in enumerate(cells):
        try:
            cell.as_py()
        except UnicodeDecodeError:
            return i
    return 0

"""String columns of Parquet and Arrow files, read with ``pyarrow`` (extra ``training``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.stored import Stored
from crayon_hf.text_readers.tables import arrow_rows, parquet_rows, readable
from crayon_hf.training_data.batches import BATCH, Texts


def column_batches(path: str, column: str, kind: str) -> Iterator[Texts]:
    """Yield the strings of a column of a Parquet or Arrow file. Nulls are skipped."""
    seen = 0
    with Stored(find_inputs([path], kind)[0], "") as source:
        parts = parquet_rows(source, [column], BATCH) if kind == "parquet" else arrow_rows(source, [column])
        for (cells,), done in parts:
            with readable(path, kind):
                try:
                    cells.validate(full=True)  # readers do not check the offsets of a damaged file
                except ValueError as error:
                    if "UTF8" not in str(error):
                        raise
                    row = seen + _first_bad(cells)
                    raise InvalidUtf8Error(f"{path}: row {row} of {column!r} is not UTF-8") from None
                values = cells.to_pylist()
            numbers = [seen + i for i, value in enumerate(values) if value is not None]
            seen += len(values)
            yield Texts(
                [value for value in values if value is not None],
                lambda i, numbers=numbers: f"{path}: row {numbers[i]} of {column!r}",  # type: ignore[misc]
                done,
            )


def _first_bad(cells: Any) -> int:
    for i, cell in enumerate(cells):
        try:
            cell.as_py()
        except UnicodeDecodeError:
            return i
    return 0

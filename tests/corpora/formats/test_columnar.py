"""Parquet and Arrow files as pyarrow and ``datasets`` read them; Arrow files equal those of ``datasets``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crayon_hf.corpora.formats import columnar
from tests.corpora.formats.format_cases import LARGE, NAMES, Documents, document_set, write

pyarrow = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
datasets = pytest.importorskip("datasets")

pytestmark = pytest.mark.slow

FEATURES = datasets.Features({"input_ids": datasets.List(datasets.Value("int32"))})


def by_datasets(path: Path, documents: Documents) -> bytes:
    from datasets.arrow_writer import ArrowWriter

    with ArrowWriter(features=FEATURES, path=str(path)) as writer:
        for document in documents:
            writer.write({"input_ids": document})
        writer.finalize()
    return path.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, tmp_path: Path) -> None:
    documents = document_set(name, LARGE.largest_id)
    write("arrow", tmp_path / "00000", documents, LARGE)
    assert (tmp_path / "00000.arrow").read_bytes() == by_datasets(tmp_path / "theirs", documents)
    write("parquet", tmp_path / "00000", documents, LARGE)
    table = pq.read_table(tmp_path / "00000.parquet")
    assert table.schema == pyarrow.schema([("input_ids", pyarrow.list_(pyarrow.int32()))])
    assert table["input_ids"].to_pylist() == documents


def test_read_by_datasets(tmp_path: Path) -> None:
    documents = document_set("random4", LARGE.largest_id)
    for format in ("parquet", "arrow"):
        write(format, tmp_path / "x", documents, LARGE)
    of_parquet = datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path))
    for read in (of_parquet, datasets.Dataset.from_file(str(tmp_path / "x.arrow"))):
        assert read.features == FEATURES
        assert read["input_ids"][:] == documents


def groups_of(path: Path) -> list[Any]:
    if path.suffix == ".arrow":
        with open(path, "rb") as file:
            return [batch.column(0).to_pylist() for batch in pyarrow.ipc.open_stream(file)]
    file = pq.ParquetFile(path)
    return [file.read_row_group(number)["input_ids"].to_pylist() for number in range(file.num_row_groups)]


@pytest.mark.parametrize("name", ["empties", "lengths", "many", "random1"])
@pytest.mark.parametrize("format", [columnar.Parquet(rows=100, tokens=1000), columnar.Arrow(rows=100, tokens=1000)])
def test_groups(name: str, format: Any, tmp_path: Path) -> None:
    """The sizes of row groups and record batches are bounded, and do not depend on how documents are split into
    calls."""
    documents = document_set(name, LARGE.largest_id)
    path = Path(write(format, tmp_path / "a", documents, LARGE)[0].name)
    write(format, tmp_path / "b", documents, LARGE, range(1, len(documents), 7))
    assert (tmp_path / path).read_bytes() == (tmp_path / f"b{path.suffix}").read_bytes()
    groups = groups_of(tmp_path / path)
    assert all(len(group) == 1 or (len(group) <= 100 and sum(map(len, group)) <= 1000) for group in groups)
    assert [document for group in groups for document in group] == documents


def test_packed(tmp_path: Path) -> None:
    """Parquet files are compressed with zstd, and have no column statistics, which are useless for ids."""
    write("parquet", tmp_path / "a", [[5] * 100_000])
    column = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0)
    assert (column.compression, column.is_stats_set) == ("ZSTD", False)
    assert not {"PLAIN_DICTIONARY", "RLE_DICTIONARY"} & set(column.encodings)

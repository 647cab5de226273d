"""Parquet files as pyarrow and ``datasets`` read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crayon_hf import FormatError
from crayon_hf.corpora.formats import FORMATS, ShardSettings, parquet
from tests.corpora.formats.format_cases import LARGE, NAMES, document_set, write

pyarrow = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
def test_read_by_pyarrow(name: str, tmp_path: Path) -> None:
    documents = document_set(name, LARGE.largest_id)
    write("parquet", tmp_path / "00000", documents, LARGE)
    table = pq.read_table(tmp_path / "00000.parquet")
    assert table.schema == pyarrow.schema([("input_ids", pyarrow.list_(pyarrow.int32()))])
    assert table["input_ids"].to_pylist() == documents


@pytest.mark.parametrize("name", ["empties", "lengths", "many", "random1", "random2"])
def test_row_groups(name: str, tmp_path: Path) -> None:
    """What one holds is bounded, and does not depend on the calls."""
    documents = document_set(name, LARGE.largest_id)
    format = parquet.Parquet(rows=100, tokens=1000)
    write(format, tmp_path / "a", documents, LARGE)
    write(format, tmp_path / "b", documents, LARGE, range(1, len(documents), 7))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    file = pq.ParquetFile(tmp_path / "a.parquet")
    read = []
    for number in range(file.num_row_groups):
        group = file.read_row_group(number)["input_ids"].to_pylist()
        assert len(group) == 1 or (len(group) <= 100 and sum(map(len, group)) <= 1000)
        read += group
    assert read == documents
    assert file.num_row_groups >= len(documents) / 100


def test_read_by_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    documents = document_set("random4", LARGE.largest_id)
    for shard in range(2):
        write("parquet", tmp_path / f"{shard}", documents, LARGE)
    read = datasets.Dataset.from_parquet([str(tmp_path / f"{i}.parquet") for i in range(2)], cache_dir=str(tmp_path))
    assert read.features == datasets.Features({"input_ids": datasets.List(datasets.Value("int32"))})
    assert read["input_ids"][:] == documents * 2


def test_packed(tmp_path: Path) -> None:
    """With zstd, and without statistics, which say nothing of ids."""
    write("parquet", tmp_path / "a", [[5] * 100_000])
    column = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0)
    assert (column.compression, column.is_stats_set) == ("ZSTD", False)
    assert "PLAIN_DICTIONARY" not in column.encodings
    assert "RLE_DICTIONARY" not in column.encodings


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_more_tokens_than_a_list_has(name: str, tmp_path: Path) -> None:
    """Offsets are int32. The ids are one number, seen 2 ** 31 times."""
    ids = np.broadcast_to(np.int32(0), 1 << 31)
    with FORMATS[name].open(str(tmp_path / "x"), ShardSettings(LARGE)) as writer:
        with pytest.raises(FormatError, match=f"document 2 has 2147483648 tokens, more than the 2147483647 of {name}:"):
            writer.write(ids, np.array([0, 0, 1 << 31], np.int64))
        writer.write(ids, np.array([0, 2], np.int64))
        writer.finish()

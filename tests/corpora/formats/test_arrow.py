"""Arrow stream files beside the ones that ``datasets`` writes, and as it reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from crayon_hf.corpora.formats import arrow
from tests.corpora.formats.format_cases import LARGE, NAMES, Documents, document_set, write

pyarrow = pytest.importorskip("pyarrow")
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
    with pyarrow.memory_map(str(tmp_path / "00000.arrow")) as file:
        assert pyarrow.ipc.open_stream(file).read_all()["input_ids"].to_pylist() == documents
    read = datasets.Dataset.from_file(str(tmp_path / "00000.arrow"))
    assert read.features == FEATURES
    assert read["input_ids"][:] == documents


def test_columns_named_by_map(tmp_path: Path) -> None:
    """What ``Dataset.map`` makes of a tokenizer's lists has the same schema."""
    mapped = datasets.Dataset.from_dict({"n": [1, 2]}).map(lambda row: {"input_ids": [row["n"]]}, remove_columns="n")
    write("arrow", tmp_path / "a", [[1], [2]])
    assert mapped.features == datasets.Dataset.from_file(str(tmp_path / "a.arrow")).features


@pytest.mark.parametrize("name", ["empties", "lengths", "many", "random1", "random2"])
def test_record_batches(name: str, tmp_path: Path) -> None:
    """What one holds is bounded, and does not depend on the calls."""
    documents = document_set(name, LARGE.largest_id)
    format = arrow.Arrow(rows=100, tokens=1000)
    write(format, tmp_path / "a", documents, LARGE)
    write(format, tmp_path / "b", documents, LARGE, range(1, len(documents), 7))
    assert (tmp_path / "a.arrow").read_bytes() == (tmp_path / "b.arrow").read_bytes()
    with open(tmp_path / "a.arrow", "rb") as file:
        batches = [batch.column(0).to_pylist() for batch in pyarrow.ipc.open_stream(file)]
    assert all(len(batch) == 1 or (len(batch) <= 100 and sum(map(len, batch)) <= 1000) for batch in batches)
    assert [document for batch in batches for document in batch] == documents

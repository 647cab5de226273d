"""Directories in the format MDS: equal to those of ``streaming``'s own writer, and read by ``streaming``'s datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf.corpora.formats.mds import Mds
from tests.corpora.formats.format_cases import LARGE, NAMES, Documents, document_set, write
from tests.corpora.formats.streaming_import import streaming
from tests.corpora.job.job_cases import tree


def by_streaming(directory: Path, documents: Documents, **settings: Any) -> dict[str, bytes]:
    with streaming().MDSWriter(columns={"tokens": "ndarray:int32"}, out=str(directory), **settings) as writer:
        for document in documents:
            writer.write({"tokens": np.array(document, np.int32)})
    return tree(directory)


def read(directory: Path) -> Documents:
    """Read all documents with StreamingDataset, and release its shared memory."""
    dataset = streaming().StreamingDataset(local=str(directory), batch_size=1)
    documents = [dataset[i]["tokens"].tolist() for i in range(len(dataset))]
    del dataset
    streaming().base.util.clean_stale_shared_memory()
    return documents


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, tmp_path: Path) -> None:
    documents = list(filter(None, document_set(name, LARGE.largest_id)))  # the writer refuses empty ones
    written = write("mds", tmp_path / "ours", documents, LARGE)
    assert tree(tmp_path / "ours") == by_streaming(tmp_path / "theirs", documents)
    sizes = {f"ours/{name}": len(data) for name, data in tree(tmp_path / "ours").items()}
    assert {file.name: file.bytes for file in written} == sizes
    assert written[-1].name == "ours/index.json"


@pytest.mark.slow
@pytest.mark.parametrize("limit", [300, 2000, 20_000])
@pytest.mark.parametrize("name", ["lengths", "one long", "many", "random0", "random1", "random2", "random3"])
def test_files_of_any_size(name: str, limit: int, tmp_path: Path) -> None:
    """Files end at the same documents as the library's, also around a document that is larger than a file may be."""
    documents = list(filter(None, document_set(name, LARGE.largest_id)))[:800]
    theirs = by_streaming(tmp_path / "theirs", documents, size_limit=limit)
    write(Mds(limit), tmp_path / "a", documents, LARGE)
    write(Mds(limit), tmp_path / "b", documents, LARGE, range(1, len(documents), 5))
    assert tree(tmp_path / "a") == theirs
    assert tree(tmp_path / "b") == theirs
    assert len(theirs) > 2 or limit > 300


@pytest.mark.parametrize("name", ["one empty", "empties", "lengths", "one long", "many", "random5"])
def test_read_by_streaming(name: str, tmp_path: Path) -> None:
    """The library reads our files, even with documents without tokens, which its own writer refuses, or without any
    documents."""
    documents = document_set(name, LARGE.largest_id)
    write(Mds(2000), tmp_path / "x", documents, LARGE)
    assert read(tmp_path / "x") == documents


def test_one_index_over_all(tmp_path: Path) -> None:
    """The index equals that of `merge_index`, and makes the whole directory one dataset."""
    sets = {f"{i:05}": document_set(name, LARGE.largest_id) for i, name in enumerate(("random4", "none", "random5"))}
    for name, documents in sets.items():
        write(Mds(2000), tmp_path / name, documents, LARGE)
    ours = Mds().merge((name, (tmp_path / name / "index.json").read_bytes()) for name in sets)
    (tmp_path / str(Mds.merged_file)).write_bytes(ours)
    streaming().base.util.merge_index([str(tmp_path / name / "index.json") for name in sets], str(tmp_path / "theirs"))
    assert (tmp_path / "theirs" / "index.json").read_bytes() == ours
    assert read(tmp_path) == [document for documents in sets.values() for document in documents]

"""The format npy writes the files of ``np.save``, and the format bin those of ``ndarray.tofile``."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from tests.corpora.formats.format_cases import NAMES, SMALL, VOCABULARIES, arrays, document_set, write
from tests.corpora.job.job_cases import tree


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("size", VOCABULARIES)
@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, size: str, tmp_path: Path) -> None:
    vocabulary = VOCABULARIES[size]
    documents = document_set(name, vocabulary.largest_id)
    ids, row_splits = arrays(documents, np.dtype("u2" if vocabulary is SMALL else "u4"))
    (tmp_path / "npy").mkdir()
    (tmp_path / "bin").mkdir()
    write("npy", tmp_path / "npy" / "00000", documents, vocabulary)
    write("bin", tmp_path / "bin" / "00000", documents, vocabulary)
    splits = {"00000.row_splits.npy": saved(row_splits)}
    assert tree(tmp_path / "npy") == {**splits, "00000.npy": saved(ids)}
    assert tree(tmp_path / "bin") == {**splits, "00000.bin": ids.tobytes()}

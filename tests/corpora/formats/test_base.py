"""The writers of all output formats: which calls they allow, their errors, and that they leave no unfinished files."""

from __future__ import annotations

import errno
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import FormatError
from crayon_hf.corpora.formats import FORMATS, ShardSettings, ShardWriter, Vocabulary
from crayon_hf.corpora.formats.groups import Groups
from tests.corpora.formats.format_cases import LARGE, SMALL, arrays, document_set, write
from tests.corpora.job.job_cases import FORMAT_CASES, tree

DOCUMENTS = document_set("random1", SMALL.largest_id)
IDS, SPLITS = arrays(DOCUMENTS, np.dtype(np.int64))

every_format = pytest.mark.parametrize("name", FORMAT_CASES)


def opened(name: str, prefix: Path, vocabulary: Vocabulary = SMALL) -> ShardWriter:
    return FORMATS[name].open(str(prefix), ShardSettings(vocabulary))


@every_format
def test_the_same_bytes_however_the_documents_come(name: str, tmp_path: Path) -> None:
    """Documents come in one call or many, with empty calls between, as part of a larger batch, and in reused arrays."""
    for directory in ("one", "many", "parts"):
        (tmp_path / directory).mkdir()
    write(name, tmp_path / "one" / "x", DOCUMENTS, SMALL, [])
    dtype = FORMATS[name].dtype(SMALL)
    with opened(name, tmp_path / "many" / "x") as writer:
        for document in DOCUMENTS:
            ids = np.array(document, dtype)
            splits = np.array([0, len(ids)], np.int64)
            writer.write(ids, splits)
            writer.write(ids, splits[:1])
            ids[:], splits[:] = 1, 0
        writer.finish()
    with opened(name, tmp_path / "parts" / "x") as writer:
        around = np.concatenate([[9, 9], IDS, [9]]).astype(dtype)
        writer.write(around, SPLITS[:40] + 2)
        around[: SPLITS[39] + 2] = 3
        writer.write(around, SPLITS[39:] + 2)
        writer.finish()
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert tree(tmp_path / "parts") == tree(tmp_path / "one")


@settings(max_examples=200, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 12), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    rows=st.integers(1, 9),
    tokens=st.integers(1, 20),
)
def test_groups(lengths: list[int], cuts: list[int], rows: int, tokens: int) -> None:
    """A row group has as many consecutive documents as fit its limits, or one document that is larger than the
    limits."""
    expected: list[list[int]] = [[]]
    for length in lengths:
        group = expected[-1]
        if len(group) == rows or (group and sum(group) + length > tokens):
            expected.append([])
        expected[-1].append(length)
    waiting = Groups(rows, tokens)
    got, position = [], 0
    edges = [0, *sorted(min(cut, len(lengths)) for cut in cuts), len(lengths)]
    for start, end in itertools.pairwise(edges):
        part = np.array(lengths[start:end], np.int64)
        ids = np.arange(position, position + part.sum())
        position += len(ids)
        got += [(np.concatenate(parts).tolist(), sizes) for parts, sizes in waiting.add(ids, part)]
        ids[:] = -1
    if len(waiting):
        parts, sizes = waiting.rest()
        got.append((np.concatenate(parts).tolist(), sizes))
    assert [sizes.tolist() for _, sizes in got] == [group for group in expected if group]
    assert [number for ids, _ in got for number in ids] == list(range(sum(lengths)))


@every_format
def test_ids_of_another_dtype(name: str, tmp_path: Path) -> None:
    """Ids of another dtype are converted if they fit the file's dtype. Otherwise the call writes nothing."""
    for directory in ("a", "b"):
        (tmp_path / directory).mkdir()
    write(name, tmp_path / "a" / "x", DOCUMENTS)
    largest = int(np.iinfo(FORMATS[name].dtype(SMALL)).max)
    with opened(name, tmp_path / "b" / "x") as writer:
        writer.write(IDS, SPLITS)
        for bad in (largest + 1, -1):
            with pytest.raises(FormatError, match=rf"b/x: the id {bad} does not fit into u?int\d+, which {name}"):
                writer.write(np.array([5, bad, 6]), np.array([0, 1, 3], np.int64))
        writer.write(np.array([5, largest + 1]), np.array([1, 1], np.int64))  # outside every document
        writer.finish()
    assert writer.documents == len(DOCUMENTS) + 1
    write(name, tmp_path / "a" / "x", [*DOCUMENTS, []])
    assert tree(tmp_path / "b") == tree(tmp_path / "a")


@every_format
def test_a_document_that_is_too_long(name: str, tmp_path: Path) -> None:
    """A document is refused if its length or offsets do not fit into the file. The ids take no memory: they are a view
    of one number. A refused call leaves no trace."""
    most = {"megatron": (1 << 31) - 1, "parquet": (1 << 31) - 1, "arrow": (1 << 31) - 1, "mds": (1 << 30) - 1024}
    if name not in most:
        pytest.skip("documents of any length")
    ids = np.broadcast_to(np.int32(0), most[name] + 2)
    with opened(name, tmp_path / "x", LARGE) as writer:
        writer.write(ids, np.array([0, 1], np.int64))
        with pytest.raises(FormatError, match=rf"x: document 3 has {most[name] + 1} tokens, .* limit of {most[name]} "):
            writer.write(ids, np.array([0, 1, most[name] + 2], np.int64))
        assert (writer.documents, writer.tokens) == (1, 1)
        writer.write(ids, np.array([5, 7], np.int64))
        writer.finish()
    write(name, tmp_path / "y", [[0], [0, 0]], LARGE)
    ours, expected = ([data for path, data in tree(tmp_path).items() if path.startswith(prefix)] for prefix in "xy")
    assert ours == expected


@pytest.mark.parametrize(
    ("name", "size", "largest", "dtype"),
    [
        ("megatron", 1, 0, "u2"),
        ("megatron", 65499, 65498, "u2"),
        ("megatron", 65500, 65499, "i4"),  # as Megatron's `DType.optimal_dtype`
        ("megatron", 65536, 65535, "i4"),
        *((name, 9, largest, "u2") for name in ("npy", "bin") for largest in (0, 65535)),
        *((name, 9, largest, "u4") for name in ("npy", "bin") for largest in (65536, 1 << 20)),
    ],
)
def test_dtype(name: str, size: int, largest: int, dtype: str) -> None:
    assert FORMATS[name].dtype(Vocabulary(size, largest)) == np.dtype(dtype)


@every_format
def test_nothing_has_its_name_before_the_end(name: str, tmp_path: Path) -> None:
    """An older shard stays until the new shard is finished. If its writer fails or is abandoned, no new file
    appears."""
    write(name, tmp_path / "x", [[1, 2], [3]])
    before = tree(tmp_path)
    with opened(name, tmp_path / "x") as writer:
        writer.write(IDS, SPLITS)
        assert {key: data for key, data in tree(tmp_path).items() if "crayon-tmp" not in key} == before
    assert tree(tmp_path) == before
    writer = opened(name, tmp_path / "x")
    with pytest.raises(ZeroDivisionError), writer:
        writer.write(IDS, SPLITS[: 1 // writer.documents])
    assert tree(tmp_path) == before
    writer.abort()
    with pytest.raises(ValueError, match="the writer is aborted"):
        writer.finish()


@every_format
def test_an_error_of_fsync(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fsync reports data that the disk lost: the error names the file, and no file is left."""

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with opened(name, tmp_path / "x", LARGE) as writer:
        writer.write(IDS, SPLITS)
        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output error") as error:
            writer.finish()
        monkeypatch.undo()
        assert error.value.errno == errno.EIO
        assert any(str(error.value.filename).startswith(path) for path in FORMATS[name].files(str(tmp_path / "x")))
        for call in (writer.finish, lambda: writer.write(IDS, SPLITS)):
            with pytest.raises(ValueError, match="an earlier write failed: abort"):
                call()
    assert os.listdir(tmp_path) == []

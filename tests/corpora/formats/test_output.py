"""Temporary files of a shard's writer: leftovers of dead processes are removed, and no other file is touched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.corpora.formats import FORMATS, ShardSettings, remove_leftovers
from tests.corpora.formats.format_cases import SMALL, write
from tests.corpora.job.job_cases import FORMAT_CASES


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_what_opening_removes(name: str, tmp_path: Path) -> None:
    """Opening a shard's writer removes leftovers of this shard, but not of other shards, and no file that only has a
    similar name."""
    others = [".y.123-0123456789ab.crayon-tmp", ".x2.1-0123456789ab.crayon-tmp", "x.tmp", ".x.crayon-tmp"]
    for place in (".x.123-0123456789ab.crayon-tmp", *others):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a").write_text("left")
    FORMATS[name].open(str(tmp_path / "x"), ShardSettings(SMALL)).abort()
    assert set(os.listdir(tmp_path)) == set(others)
    assert len(remove_leftovers(str(tmp_path))) == 2
    assert set(os.listdir(tmp_path)) == set(others[2:])


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_the_same_shard_once_more(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a shard is written again, readers find it at every moment. If its documents change, the file that readers
    open first is removed first."""
    last = str(tmp_path / "x" / "index.json") if name == "mds" else FORMATS[name].files(str(tmp_path / "x"))[-1]
    removed: list[str] = []
    for call in ("unlink", "rename"):
        real = getattr(os, call)

        def noted(path: str, *others: str, real: Any = real, **named: Any) -> None:
            removed.extend([path] if os.path.lexists(path) else [])
            real(path, *others, **named)

        monkeypatch.setattr(os, call, noted)
    for rows, is_removed in (([[1], [2, 3]], False), ([[1], [2, 3]], False), ([[1, 2], [4]], True)):
        write(name, tmp_path / "x", rows)
        assert (last in removed) is (is_removed and name not in ("parquet", "arrow"))  # whose shards are one file


def test_a_name_that_cannot_be_given(tmp_path: Path) -> None:
    """The second file's name belongs to a directory: the first file, already renamed, is removed again."""
    (tmp_path / "x.ds.metadata").mkdir()
    with pytest.raises(IsADirectoryError) as error:
        write("datatrove", tmp_path / "x", [[1, 2]])
    assert error.value.filename == str(tmp_path / "x.ds.metadata")
    assert os.listdir(tmp_path) == ["x.ds.metadata"]

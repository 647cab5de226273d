"""Temporary names: whose process is gone is known, and nobody takes another's file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crayon_hf.corpora.formats import FORMATS, ShardSettings, output, remove_leftovers
from tests.corpora.formats.format_cases import SMALL, tree, write
from tests.corpora.job.job_cases import FORMAT_CASES

ALIVE = """
import sys, time
import numpy as np
from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary
writer = FORMATS[sys.argv[1]].open(sys.argv[2], ShardSettings(Vocabulary(50257, 50256)))
writer.write(np.arange(3000, dtype=np.int32), np.array([0, 1000, 3000], np.int64))
print("writing", flush=True)
time.sleep(600)
"""

TWICE = """
import sys
import numpy as np
from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary
for _ in range(40):
    with FORMATS[sys.argv[1]].open(sys.argv[2], ShardSettings(Vocabulary(50257, 50256, "gpt2"))) as writer:
        writer.write(np.array([1, 2, 3]), np.array([0, 2, 2, 3], np.int64))
        writer.finish()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMAT_CASES)
def test_a_process_that_writes_and_is_killed(name: str, tmp_path: Path) -> None:
    """While it lives what it writes stays, even when the same shard is written by another; then it goes."""
    command = [sys.executable, "-c", ALIVE, name, str(tmp_path / "x")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        theirs = set(os.listdir(tmp_path))
        assert len(theirs) == len(FORMATS[name].files("x"))
        assert remove_leftovers(str(tmp_path)) == []
        write(name, tmp_path / "x", [[1], [2, 3]])
        finished = tree(tmp_path)
        assert theirs < set(os.listdir(tmp_path))
        process.send_signal(signal.SIGKILL)
    removed = remove_leftovers(str(tmp_path))
    assert {os.path.basename(path) for path in removed} == theirs
    assert tree(tmp_path) == {path: data for path, data in finished.items() if "crayon-tmp" not in path}


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_what_opening_removes(name: str, tmp_path: Path) -> None:
    """Leftovers of this shard; not those of others, and nothing that has only a similar name."""
    ours = [f".{Path(path).name}.123-0123456789ab.crayon-tmp" for path in FORMATS[name].files("x")]
    others = [
        ".y.bin.123-0123456789ab.crayon-tmp",
        ".x2.bin.1-0123456789ab.crayon-tmp",
        "x.bin.tmp",
        ".x.bin.crayon-tmp",
    ]
    for place in (*ours, *others):
        (tmp_path / place).write_text("left")
    (tmp_path / ours[0]).unlink()
    (tmp_path / ours[0]).mkdir()
    (tmp_path / ours[0] / "a").write_text("left")
    FORMATS[name].open(str(tmp_path / "x"), ShardSettings(SMALL)).abort()
    assert set(os.listdir(tmp_path)) == set(others)
    assert len(remove_leftovers(str(tmp_path))) == 2
    assert set(os.listdir(tmp_path)) == set(others[2:])


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_two_writers_of_one_shard(name: str, tmp_path: Path) -> None:
    """As when an engine tries a task again while the first attempt still runs: each has its own files."""
    ids, splits = np.arange(10, dtype=np.int32), np.array([0, 4, 10], np.int64)
    writers = [FORMATS[name].open(str(tmp_path / "x"), ShardSettings(SMALL)) for _ in range(2)]
    for part in (splits[:2], splits[1:]):
        for writer in writers:
            writer.write(ids, part)
    written = [writer.finish() for writer in writers]
    assert written[0] == written[1]
    together = tree(tmp_path)
    FORMATS[name].remove(str(tmp_path / "x"))
    write(name, tmp_path / "x", [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]])
    assert tree(tmp_path) == together


def test_small_and_large_pieces(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    pieces = [chance.bytes(size) for size in (0, 1, 100, (1 << 20) - 50, 3, 1 << 20, 5 << 20, 7)]
    file = output.Output(str(tmp_path / "x"))
    assert [file.write(piece) for piece in pieces] == list(map(len, pieces))
    assert file.tell() == sum(map(len, pieces))
    file.overwrite_start(b"start")
    file.write(np.array([1, 2], "<i8"))
    file.sync()
    file.place()
    file.discard()
    with pytest.raises(ValueError, match="is closed"):
        file.write(b"more")
    assert (tmp_path / "x").read_bytes() == b"start" + b"".join(pieces)[5:] + bytes([1, *[0] * 7, 2, *[0] * 7])


def test_numbers_that_wait(tmp_path: Path) -> None:
    """In a file that has no name, so no killed process leaves one."""
    spool = output.Spool(str(tmp_path / "x"), "<i4")
    for start in range(0, 1000, 300):
        spool.append(np.arange(start, min(start + 300, 1000)))
        spool.append(np.empty(0, np.int64))
    assert os.listdir(tmp_path) == []
    assert spool.count == 1000
    blocks = list(spool.blocks(64))
    assert [len(block) for block in blocks] == [64] * 15 + [40]
    assert np.concatenate(blocks).tolist() == list(range(1000))
    spool.append(np.array([-1]))
    assert np.concatenate(list(spool.blocks())).tolist() == [*range(1000), -1]
    spool.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["megatron", "npy", "mds"])
def test_three_processes_at_one_shard(name: str, tmp_path: Path) -> None:
    """Two files, also with a header, and a directory: whoever comes last, the shard is whole."""
    (tmp_path / "once").mkdir()
    (tmp_path / "twice").mkdir()
    write(name, tmp_path / "once" / "x", [[1, 2], [], [3]])
    command = [sys.executable, "-c", TWICE, name, str(tmp_path / "twice" / "x")]
    processes = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[1] for process in processes] == ["", "", ""]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert tree(tmp_path / "twice") == tree(tmp_path / "once")
    assert remove_leftovers(str(tmp_path / "twice")) == []


def test_a_name_that_cannot_be_given(tmp_path: Path) -> None:
    """There is a directory of the second file's name: the first one, which has its name, does not stay alone."""
    (tmp_path / "x.ds.metadata").mkdir()
    with pytest.raises(IsADirectoryError) as error:
        write("datatrove", tmp_path / "x", [[1, 2]])
    assert error.value.filename == str(tmp_path / "x.ds.metadata")
    assert os.listdir(tmp_path) == ["x.ds.metadata"]

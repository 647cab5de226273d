"""A writer that is killed at every step, and one whose disk is full: a shard is whole, or it is not there."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.corpora.formats import FORMATS
from tests.support.small_disk import mounting

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there is no fork")

# Shards are written in processes that are forked from one that has all imports.
FORKING = (
    f"import sys; sys.path.append({str(Path(__file__).parents[3])!r})"
    + """
import errno, json, os, resource, shutil, signal, subprocess
from pathlib import Path
import numpy as np
from crayon_hf.corpora.formats import FORMATS, ShardSettings, remove_leftovers
from tests.corpora.formats.format_cases import LARGE, tree

name, place = sys.argv[1], Path(sys.argv[2])
prefix = str(place / "x")
finals = [Path(path) for path in FORMATS[name].files(prefix)]
chance = np.random.default_rng(1)
OLD = chance.integers(0, 100, 2000, np.int32), np.arange(0, 2001, 40)
NEW = chance.integers(0, LARGE.size, 300_000, np.int32), np.arange(0, 300_001, 30)
said = []

def write(ids, splits):
    with FORMATS[name].open(prefix, ShardSettings(LARGE)) as writer:
        half = len(splits) // 2
        writer.write(ids, splits[: half + 1])
        writer.write(ids, splits[half:])
        writer.finish()

def forked(function):
    child = os.fork()
    if child == 0:
        try:
            function()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def empty():
    for path in place.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()

def result(documents):
    empty()
    write(*documents)
    return tree(place)
"""
)

KILLED = """
place.mkdir()
old, new = result(OLD), result(NEW)
CALLS = ("write", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")

def killed_at(step):
    left = [step]
    for call in CALLS:
        real = getattr(os, call)
        def counted(*arguments, real=real, **named):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*arguments, **named)
        setattr(os, call, counted)
    write(*NEW)

empty()
write(*OLD)
step = 0
while True:
    code = forked(lambda: killed_at(step))
    if code == 0:
        break
    assert code == -signal.SIGKILL, code
    now = {path: data for path, data in tree(place).items() if "crayon-tmp" not in path}
    if finals[-1].exists():
        kind = "old" if now == old else "new" if now == new else "torn"
    else:
        kind = "absent" if all(data in (old.get(path), new.get(path)) for path, data in now.items()) else "torn"
    temporary = any("crayon-tmp" in path for path in os.listdir(place))
    assert forked(lambda: write(*NEW)) == 0
    said.append([kind, temporary, tree(place) == new])
    empty()
    write(*OLD)
    step += 1
assert tree(place) == new
print(json.dumps(said))
"""

FULL = """
import time
def fails():
    try:
        write(*NEW)
    except OSError as error:
        return [error.errno, error.filename, sorted(path for path in tree(place) if path != "filler")]
    return None

place.mkdir()
whole = result(NEW)
empty()
size = sum(map(len, whole.values()))
for part in (0, 0.002, 0.5, 0.99, 0.999, 3):
    if LIMIT == "disk":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(place)], check=True)
        room = shutil.disk_usage(place).free
        (place / "filler").write_bytes(bytes(max(0, room - int(size * part) // 4096 * 4096)))
        failed = fails()
        (place / "filler").unlink()
    else:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(max(map(len, whole.values())) * part), hard))
        failed = fails()
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    write(*NEW)
    said.append([failed, tree(place) == whole])
    if LIMIT == "disk":
        subprocess.run(["umount", str(place)], check=True)
    else:
        empty()
print(json.dumps(said))
"""


def run(code: str, name: str, place: Path, *private: str) -> list[Any]:
    """What the code said; `private`: the words before the command."""
    command = [*private, sys.executable, "-c", FORKING + code, name, str(place)]
    done = subprocess.run(command, cwd=place.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_killed_at_every_step(name: str, tmp_path: Path) -> None:
    """Readers find the old shard, the new one or none; the next run has the same bytes and leaves nothing else."""
    steps = run(KILLED, name, tmp_path / "place")
    assert {same for *_, same in steps} == {True}
    assert {"old", "new"} <= {kind for kind, *_ in steps} <= {"old", "absent", "new"}
    assert sum(temporary for _, temporary, _ in steps) > 2


def check(rows: list[Any], number: int, place: Path, name: str) -> None:
    finals = FORMATS[name].files(str(place / "x"))
    for failed, same in rows:
        assert same
        if failed is not None:
            code, filename, left = failed
            assert (code, left) == (number, [])
            assert any(filename.startswith(path) for path in finals), filename
    assert rows[0][0] is not None
    assert rows[-1][0] is None
    assert sum(failed is not None for failed, _ in rows) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_files_that_may_not_grow(name: str, tmp_path: Path) -> None:
    """RLIMIT_FSIZE: a write fails as it does on a full disk, whoever may mount what."""
    check(run("LIMIT = 'size'" + FULL, name, tmp_path / "place"), errno.EFBIG, tmp_path / "place", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk(name: str, tmp_path: Path) -> None:
    """A small tmpfs, really full sooner or later."""
    private = mounting(tmp_path)
    check(run("LIMIT = 'disk'" + FULL, name, tmp_path / "place", *private), errno.ENOSPC, tmp_path / "place", name)

"""The source distribution: it has the files of the repository and no others, and the same files give the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000

BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    pytest.importorskip("setuptools", minversion="77")
    pytest.importorskip("pybind11")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a checkout")
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).exists()]


def copy(tracked: list[str], to: Path, seconds: int) -> Path:
    """Copy the tracked files of the repository, with `seconds` as their time."""
    for name in tracked:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
        os.utime(to / name, (seconds, seconds))
    return to


def litter(directory: Path) -> None:
    """Write files such as builds, tests and editors leave."""
    for name in (
        *("crayon_hf/_core.cpython-311-x86_64-linux-gnu.so", "crayon_hf/profiles/lite.dat", "build/lib/crayon_hf/x.py"),
        *("crayon_hf/__pycache__/x.cpython-311.pyc", "tests/__pycache__/y.pyc", "cpp/z.pyd", ".venv/lib/a.py"),
        *("dist/old.tar.gz", ".pytest_cache/v", ".mypy_cache/m.json", ".hypothesis/h", "bench.json", "notes.txt"),
        *(".git/config", "crayon_hf/parity/.ruff_cache/r"),
    ):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(b"litter")


def build(directory: Path, out: Path) -> Path:
    out.mkdir()
    command = [sys.executable, "-c", BUILD, str(out)]
    epoch = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    done = subprocess.run(command, cwd=directory, env=epoch, capture_output=True, text=True, check=True)
    return out / done.stdout.split()[-1]


@pytest.mark.slow
def test_what_an_sdist_holds(tracked: list[str], tmp_path: Path) -> None:
    first = copy(tracked, tmp_path / "first", 1_600_000_000)
    litter(first)
    sdist = build(first, tmp_path / "out")
    with tarfile.open(sdist) as archive:
        entries = [entry for entry in archive if not entry.isdir()]
    assert {(entry.mtime, entry.uid, entry.gid, entry.uname) for entry in entries} == {(EPOCH, 0, 0, "")}
    programs = {name for name in tracked if os.access(ROOT / name, os.X_OK)}
    named = {entry.name.partition("/")[2]: entry for entry in entries}
    assert {name for name, entry in named.items() if entry.mode & 0o111} == programs
    metadata = {name for name in named if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    assert metadata >= {"PKG-INFO", "crayon_hf.egg-info/entry_points.txt"}
    assert set(named) - metadata == set(tracked)
    assert {"conversion", "crayon_hf", "parity"} <= {name.partition("/")[0] for name in named}
    for name in tracked:
        assert named[name].size == (ROOT / name).stat().st_size

    again = build(copy(tracked, tmp_path / "again", 1_500_000_000), tmp_path / "out-again")
    assert again.name == sdist.name
    assert again.read_bytes() == sdist.read_bytes()

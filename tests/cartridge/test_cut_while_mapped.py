"""A cartridge that another process cuts, or writes over, while it is mapped: an error that names it, in every call."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crayon_hf import _core
from tests.cartridge.cut_child import TEXT
from tests.support.cartridge_cases import compiled

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut there")

of_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or sys.maxsize < 2**32, reason="the layout of struct sigaction is another"
)

SURVIVED = (
    "before_each_call",
    "what_was_begun",
    "at_every_size",
    "overwritten",
    "in_batches",
    "in_a_progress_report",
    "while_it_opens",
    "of_a_fork",
    "faulthandler_before",
    "faulthandler_gone",
    "sent_and_handled",
    "sent_and_ignored",
)


@pytest.fixture(scope="module")
def files(gpt2_like: Path, small: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cut")
    other = compiled(gpt2_like.read_bytes())
    (directory / "other.dat").write_bytes(other)
    (directory / "other.ids").write_text(json.dumps(_core.Engine.from_bytes(other).encode_ids(TEXT)))
    (directory / "whole.dat").write_bytes(small)
    return directory


@pytest.fixture
def directory(files: Path, every_case: Path, tmp_path: Path) -> Path:
    for path in files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "whole.json").symlink_to(every_case)
    (tmp_path / "text").write_text(TEXT * 8000)
    return tmp_path


def run(scenario: str, directory: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-m", "tests.cartridge.cut_child", scenario, str(directory)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SURVIVED)
def test_error_instead_of_death(scenario: str, directory: Path) -> None:
    done = run(scenario, directory)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""


def test_faulthandler_that_was_enabled_later(directory: Path) -> None:
    done = run("faulthandler_after", directory)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("Fatal Python error: Bus error") == 1


@of_glibc
def test_handler_that_hands_on(directory: Path) -> None:
    done = run("sent_and_handed_back", directory)
    assert (done.returncode, done.stderr) == (0, "")


DEADLY = ["foreign_fault", "foreign_fault_reported", "sent", pytest.param("foreign_fault_handed_back", marks=of_glibc)]


@pytest.mark.parametrize("scenario", DEADLY)
def test_other_faults_kill_as_ever(scenario: str, directory: Path) -> None:
    done = run(scenario, directory)
    assert done.stdout == "alive\n"
    assert done.returncode == -signal.SIGBUS, done.stderr[-3000:]
    assert ("Fatal Python error: Bus error" in done.stderr) == (scenario == "foreign_fault_reported")

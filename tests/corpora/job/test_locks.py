"""A lock ends with its last holder, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crayon_hf import JobError
from crayon_hf.corpora.job.locks import Lock


def test_one_at_a_time(tmp_path: Path) -> None:
    path = str(tmp_path / "made" / "lock")
    first = Lock(path, "busy")
    with pytest.raises(JobError, match="busy"):
        Lock(path, "busy", patience=0.1)
    first.release()
    first.release()
    with Lock(path, "busy", patience=0.1) as second:
        assert os.path.exists(path)
        second.release(remove=True)
    assert not os.path.exists(path)


@pytest.mark.skipif(os.name == "nt", reason="children inherit no descriptors there")
def test_a_child_holds_it_too(tmp_path: Path) -> None:
    """The lock of a job is held until the last of its workers is gone, also when the job itself was killed."""
    path = str(tmp_path / "lock")
    lock = Lock(path, "busy")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.descriptor])
    lock.release()
    with pytest.raises(JobError):
        Lock(path, "busy", patience=0.1)
    child.kill()
    child.communicate()
    Lock(path, "busy", patience=0.1).release()

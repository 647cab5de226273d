"""A disk that gets full, for one process: a tmpfs in a mount namespace of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def mounting(place: Path) -> list[str]:
    """The words before a command that may mount (`mount -t tmpfs -o size=4m none DIRECTORY`), and nobody else sees it.

    The test is skipped where that may not be; it is tried at `place`, a directory.
    """
    private = ["unshare", "--map-root-user", "--mount"]
    try:
        tried = subprocess.run([*private, "mount", "-t", "tmpfs", "none", str(place)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare(1)")
    if tried.returncode != 0:
        pytest.skip(f"no tmpfs may be mounted: {tried.stderr.strip()}")
    return private

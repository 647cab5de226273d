"""Runs Python code in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def child(
    code: str,
    *arguments: object,
    lines: bytes = b"",
    path: object = "",
    cwd: Path | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run Python code in another process for at most ten minutes, with `path` and this process's import path.

    `lines` is its standard input; `environment` has additional environment variables.
    """
    entries = os.pathsep.join(filter(None, (str(path), *sys.path)))
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        input=lines,
        capture_output=True,
        timeout=600,
        check=False,
        cwd=cwd or tempfile.gettempdir(),
        env=os.environ | {"PYTHONPATH": entries} | environment,
    )


def said_by(code: str, *arguments: object, lines: bytes = b"", path: object = "", **environment: str) -> str:
    """Run Python code, which must succeed, in another process, and return its output."""
    done = child(code, *arguments, lines=lines, path=path, **environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()

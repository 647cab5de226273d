"""Helpers for tests of ``crayon-hf`` commands."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-c", "import sys; from crayon_hf.cli import main; sys.exit(main())"]
"""The command in its own process, for signals, terminals and closed streams. `call` runs it in this process."""


def good(done: subprocess.CompletedProcess[Any]) -> str:
    """Return the output of a command that succeeded without messages."""
    assert (done.returncode, done.stderr) == (0, type(done.stderr)()), done
    return done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout


def failure(done: subprocess.CompletedProcess[Any], code: int = 1) -> str:
    """Return the only message of a command that failed."""
    assert done.returncode == code, done
    (message,) = done.stderr.decode().splitlines()
    assert message.startswith("crayon-hf: error: ")
    return str(message.removeprefix("crayon-hf: error: "))

"""What tests of commands have in common."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-c", "import sys; from crayon_hf.cli import main; sys.exit(main())"]
"""The command in a process of its own: for signals, terminals and closed streams. Else `call` runs it in this one."""


def good(done: subprocess.CompletedProcess[Any]) -> str:
    """What a command printed that ended well, and said nothing else."""
    assert (done.returncode, done.stderr) == (0, type(done.stderr)()), done
    return done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout


def failure(done: subprocess.CompletedProcess[Any], code: int = 1) -> str:
    """The only message of a command that failed."""
    assert done.returncode == code, done
    (message,) = done.stderr.decode().splitlines()
    assert message.startswith("crayon-hf: error: ")
    return str(message.removeprefix("crayon-hf: error: "))

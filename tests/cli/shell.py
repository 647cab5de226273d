"""Helpers for tests of ``crayon-hf`` commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
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


def shown(arguments: Sequence[str], **environment: str) -> str:
    """Return the command's output on a terminal. Only Unix has such terminals."""
    import pty

    main, terminal = pty.openpty()
    given = {**os.environ, "TERM": "xterm-256color", **environment}
    if "NO_COLOR" not in environment:
        given.pop("NO_COLOR", None)
    process = subprocess.Popen([*COMMAND, *arguments], stdout=terminal, stderr=terminal, env=given)
    os.close(terminal)
    data = b"".join(_blocks(main))
    os.close(main)
    assert process.wait() == 0, data
    return data.decode().replace("\r\n", "\n")


def _blocks(terminal: int) -> Iterator[bytes]:
    try:
        while block := os.read(terminal, 1 << 16):
            yield block
    except OSError:  # Linux: the command has closed its end of the terminal
        return

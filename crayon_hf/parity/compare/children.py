"""Starts child processes of Python, exchanges messages with them, and reports how they ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

__all__ = ["Child", "ChildError", "Ending", "child_command", "command_by_path", "last_line"]

# `python -m` would put the working directory first, which may hold another or an incomplete crayon_hf.
_BEGIN = "import sys; sys.path[:] = filter(None, sys.path)\n"
_MODULE = f"""{_BEGIN}
import json
sys.path[:] = json.loads(sys.argv.pop(1))
from importlib import import_module
sys.exit(import_module(sys.argv.pop(1)).main())
"""
_BY_PATH = f"""{_BEGIN}
import json, types
from importlib import import_module
more, folders, module = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
if more is not None:
    sys.path[:] = more
sys.modules["by_path"] = types.ModuleType("by_path")
sys.modules["by_path"].__path__ = folders
sys.exit(import_module("by_path." + module).main(*sys.argv[4:]))
"""


def child_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs ``main()`` of a module in a fresh interpreter with the same ``sys.path``."""
    return [sys.executable, "-c", _MODULE, json.dumps(sys.path), module, *arguments]


def command_by_path(folders: Sequence[Path], module: str, *arguments: str, python: str = "") -> list[str]:
    """Return the command that runs ``main(*arguments)`` of a module from `folders`, without importing `crayon_hf`.

    Modules of the folders may import each other relatively, but no parent package. `python` is an interpreter of
    another environment; it does not get the ``sys.path`` of this process.
    """
    path = json.dumps(None if python else sys.path)
    return [python or sys.executable, "-c", _BY_PATH, path, json.dumps(list(map(str, folders))), module, *arguments]


@dataclass
class Ending:
    """How a process ended: its exit code, its last printed line, and whether it ran over its own time limit."""

    code: int = 0
    last: str = ""
    is_over: bool = False

    def __str__(self) -> str:
        return f"ended with code {self.code}: {self.last}"


def last_line(printed: str) -> str:
    """Return the last line that a process printed, usually its error.

    For a fatal error of Python, return that error and the line of code.
    """
    lines = printed.strip().splitlines() or ["no message"]
    fatal = next((i for i, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if fatal is None:
        return lines[-1]
    return " ".join([lines[fatal], *[line.strip() for line in lines[fatal:] if line.startswith("  File ")][:1]])


class ChildError(RuntimeError):
    """A process ended instead of answering, or its answer is an error."""


class Child:
    """A process that receives work on its standard input and answers on its standard output.

    `close`, or a ``with`` block, ends it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: IO[bytes] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """`log`, opened to append and read, gets the standard error of the process, which begins in `cwd`."""
        self._noise = log or TemporaryFile()  # noqa: SIM115 (until close)
        self._is_own, self._begin = log is None, self._noise.seek(0, os.SEEK_END)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
            env={**os.environ, **environment},
            cwd=cwd,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin: IO[bytes] = self.process.stdin
        self.answers: IO[bytes] = self.process.stdout

    def send(self, data: bytes, *, is_all: bool = False) -> None:
        """Write to the standard input, and close it if `is_all`. Do nothing if the process has ended."""
        with contextlib.suppress(OSError):  # `ending` reports why
            self._stdin.write(data)
            self._stdin.flush()
            if is_all:
                self._stdin.close()

    def ask(self, request: Any) -> dict[str, Any]:
        """Send a request as a line of JSON, and return the answer. Raise ChildError if the process ends or fails."""
        self.send(json.dumps(request).encode() + b"\n")
        return self.hear()

    def hear(self) -> dict[str, Any]:
        """Return the next answer, a line of JSON. Raise ChildError if the process ends, or answers ``error``."""
        line = self.answers.readline()
        if not line:
            raise ChildError(f"the process {self.ending()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ChildError(answer["error"])
        return answer

    def ending(self) -> Ending:
        """Wait for the process to end, and return how it ended."""
        code = self.process.wait()
        self._noise.seek(self._begin)
        said = self._noise.read().decode(errors="replace")
        return Ending(code, last_line(said), "\nTimeout (" in f"\n{said}")  # the message of faulthandler

    def close(self) -> None:
        """Kill the process if it still runs."""
        for stream in (self._stdin, self.answers):
            with contextlib.suppress(OSError):  # unsent data for a process that has ended
                stream.close()
        self.process.kill()
        self.process.wait()
        if self._is_own:
            self._noise.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self.process.returncode is None:
            self.close()

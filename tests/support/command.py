"""Runs ``crayon-hf`` commands in this process, for tests of their output that need no new Python.

The command's standard streams are files and a pipe on the real descriptors 0 to 2, so that even native code's output is
captured. Tests of signals, terminals and closed streams need a separate process.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from unittest import mock

from crayon_hf.cli import main


def call(
    *arguments: object, stdin: str | bytes = b"", cwd: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``crayon-hf`` with these arguments and return its status and output, as ``subprocess.run`` would.

    >>> call("--version").stdout.split()[0]
    b'crayon-hf'
    """
    given = [str(argument) for argument in arguments]
    data = stdin.encode() if isinstance(stdin, str) else stdin
    here = os.getcwd()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _streams(data, out, err), mock.patch.dict(os.environ, environment or {}):
            os.chdir(cwd or here)
            try:
                code = main(given)
            except SystemExit as exit:
                code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
            finally:
                os.chdir(here)
        printed = []
        for stream in (out, err):
            stream.seek(0)
            printed.append(stream.read())
    return subprocess.CompletedProcess(["crayon-hf", *given], code, *printed)


@contextlib.contextmanager
def _streams(data: bytes, out: IO[bytes], err: IO[bytes]) -> Iterator[None]:
    """Replace standard input by a pipe with `data`, standard output by `out`, and standard error by `err`."""
    reading, writing = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), open(writing, "wb") as pipe:
            pipe.write(data)

    writer = threading.Thread(target=feed)
    writer.start()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(number) for number in (0, 1, 2)]
    for number, descriptor in enumerate((reading, out.fileno(), err.fileno())):
        os.dup2(descriptor, number)
    os.close(reading)
    with contextlib.ExitStack() as stack:
        stack.callback(writer.join)
        for number, descriptor in enumerate(kept):
            stack.callback(os.close, descriptor)
            stack.callback(os.dup2, descriptor, number)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            raw = open(number, "rb" if name == "stdin" else "wb", closefd=False)  # noqa: SIM115 - closed with its text
            buffering = {} if name == "stdin" else {"write_through": name == "stderr"}
            text = stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", errors=_errors(name), **buffering))
            stack.enter_context(mock.patch.object(sys, name, text))
        yield


def _errors(name: str) -> str:
    stream = getattr(sys, f"__{name}__")
    return str(stream.errors) if stream is not None else "strict"

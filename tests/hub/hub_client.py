"""Runs clients of a local Hub, each in its own process, because huggingface_hub reads the Hub's address at import."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.hub.local_hub import LocalHub


def start_client(
    hub: LocalHub, what: str | Sequence[str], home: Path, *, stdin: int = subprocess.DEVNULL, **environment: Any
) -> subprocess.Popen[str]:
    """Start a Python process that uses the Hub `hub`, for a user with this home directory.

    `what` is code, or a list of arguments like `["-m", "crayon_hf", "pull", "user/repo"]`. Other keywords go to
    `LocalHub.environment`.
    """
    arguments = ["-c", textwrap.dedent(what)] if isinstance(what, str) else list(what)
    home.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-P", *arguments] if sys.version_info >= (3, 11) else [sys.executable, *arguments],
        env=hub.environment(home, **environment),
        cwd=home,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_client(
    hub: LocalHub, what: str | Sequence[str], home: Path, *, check: bool = False, **environment: Any
) -> subprocess.CompletedProcess[str]:
    """Start a client as `start_client` does, and wait for its end. With `check` its exit status must be 0."""
    with start_client(hub, what, home, **environment) as process:
        try:
            out, err = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    assert not check or done.returncode == 0, f"{done.args}: {done.returncode}\n{out}\n{err}"
    return done


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a command that failed."""
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "Traceback" not in done.stderr
    message = done.stderr.splitlines()[-1]
    assert message.startswith("crayon-hf: error: ")
    return message.removeprefix("crayon-hf: error: ")


_COMMANDS = """
import contextlib, io, json, sys, traceback
import huggingface_hub  # now: what it logs goes to the stream that is stderr when it is imported
from crayon_hf.cli import main
answers = sys.stdout
for line in sys.stdin:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(json.loads(line))
        except SystemExit as error:
            code = error.code
        except BaseException:
            traceback.print_exc()
            code = -1
    said = [code, *(stream.buffer.getvalue().decode() for stream in (out, err))]
    print(json.dumps(said), file=answers, flush=True)
"""


class Session:
    """A client process that runs several `crayon-hf` commands in turn, to import modules only once."""

    def __init__(self, hub: LocalHub, home: Path, **environment: Any) -> None:
        self.home = home
        self._process: Any = start_client(hub, _COMMANDS, home, stdin=subprocess.PIPE, **environment)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command with these arguments. Returns its exit code and output."""
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        code, out, err = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(arguments, code, out, err)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

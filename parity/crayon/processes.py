"""`Opened`: a vocabulary that is open in a process of its own, in this environment or another one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from crayon_hf.errors import UnsupportedError

CHILD = str(Path(__file__).with_name("child.py"))


class ChildError(RuntimeError):
    """The call failed in the process; the message is the error there."""


class Opened:
    """One vocabulary of CRAYON's (`engine` is ``crayon``) or the same in ours (``ours``).

    `python` is the interpreter of its environment, this one by default; `cores` are the processor cores it may use.
    UnsupportedError if it cannot be opened there.

    >>> with Opened("crayon", "vocab_lite.dat") as crayon:  # doctest: +SKIP
    ...     crayon.ids(["The quick brown fox"])
    [[464, 2068, 7586, 21831]]
    """

    def __init__(self, engine: str, path: str, python: str = "", cores: Sequence[int] = ()) -> None:
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115
        environment = {**os.environ, "PYTHONPATH": "" if python else os.pathsep.join(filter(None, sys.path))}
        environment |= {"RAYON_NUM_THREADS": str(len(cores) or 1), "OMP_NUM_THREADS": str(len(cores) or 1)}
        self._process = subprocess.Popen(
            [python or sys.executable, CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        try:
            said = self._ask("open", engine=engine, path=os.path.abspath(path), cores=list(cores))
        except ChildError as error:
            self.close()
            raise UnsupportedError(f"{path} cannot be opened with {python or 'this Python'}: {error}") from None
        self.release: str = said["release"]
        self.engine: str = said["engine"]
        """``crayon_cpu``, ``crayon_turbo`` or ``crayon_hf``."""
        self.gives: str = said["gives"]
        """The type that ``tokenize`` returns for one text."""
        self.open_ms: float = said["open_ms"]

    def ids(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text."""
        rows: list[list[int]] = self._ask("ids", texts=texts)["rows"]
        return rows

    def decode(self, rows: list[list[int]]) -> list[str]:
        """The text of each row of ids."""
        texts: list[str] = self._ask("decode", rows=rows)["texts"]
        return texts

    def keep(self, texts: list[str]) -> None:
        """The texts that `time` is about."""
        self._ask("keep", texts=texts)

    def time(self, call: str) -> tuple[float, float]:
        """Seconds of a call with them, by the clock and of the processor: ``tokenize``, ``each``, ``arrays`` (ours)."""
        said = self._ask("time", call=call)
        return said["wall"], said["cpu"]

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # what was not sent to a process that has ended
                    stream.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _ask(self, do: str, **request: Any) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps({"do": do, **request}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise ChildError(f"the process ended with code {self._process.wait()}: {last[0]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ChildError(answer["error"])
        return answer

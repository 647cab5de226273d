"""`Opened`: a vocabulary in a process of its own, in this environment or another one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from crayon_hf.errors import UnsupportedError
from crayon_hf.parity.compare.children import Child, ChildError

CHILD = str(Path(__file__).with_name("child.py"))


class Opened:
    """One vocabulary of CRAYON. `python` is the interpreter of its environment, by default this one.

    Raises UnsupportedError if the vocabulary cannot be opened there.

    >>> with Opened("vocab_lite.dat") as crayon:  # doctest: +SKIP
    ...     crayon.ids(["The quick brown fox"])
    [[464, 2068, 7586, 21831]]
    """

    def __init__(self, path: str, python: str = "") -> None:
        environment = {"PYTHONPATH": "" if python else os.pathsep.join(filter(None, sys.path))}
        environment |= {"OMP_NUM_THREADS": "1"}
        self._child = Child([python or sys.executable, CHILD], environment)
        try:
            said = self._child.ask({"do": "open", "path": os.path.abspath(path)})
        except ChildError as error:
            self.close()
            raise UnsupportedError(f"{path} cannot be opened with {python or 'this Python'}: {error}") from None
        self.release: str = said["release"]
        self.engine: str = said["engine"]
        """``crayon_cpu`` or ``crayon_turbo``."""
        self.gives: str = said["gives"]
        """The type that ``tokenize`` returns for one text."""

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Return the ids of each text."""
        rows: list[list[int]] = self._child.ask({"do": "ids", "texts": texts})["rows"]
        return rows

    def decode(self, rows: list[list[int]]) -> list[str]:
        """Return the text of each row of ids."""
        texts: list[str] = self._child.ask({"do": "decode", "rows": rows})["texts"]
        return texts

    def close(self) -> None:
        """End the process."""
        self._child.close()

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

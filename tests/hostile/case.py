"""A case of the gallery of hostile files: how the file is made, and the error that the documentation promises for
it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CARTRIDGE = "CartridgeError"
VOCABULARY = "VocabularyError"
ACCEPTED = "accepted"


class Case(NamedTuple):
    """One file, or another object with a file's name.

    - `make` creates the file in an empty directory and returns its path.
    - `error` is the class that opening raises, or `ACCEPTED` for a file that must open with the ids of the good one.
    - `promise` is the message in the documentation's table (see promises.py), or empty for any of them.
    - `says` is a regular expression that the message must match besides.
    - `only` names the one way of opening (see child.py) that gives this error, if others give another.
    - `names` is the file in the same directory that the message names, if not the opened one.
    """

    name: str
    make: Callable[[Path], Path]
    error: str
    promise: str
    says: str = ""
    only: str = ""
    names: str = ""


def file_of(data: bytes, name: str = "hostile.dat") -> Callable[[Path], Path]:
    """Return a function that writes a file with these bytes into a directory, for `Case.make`."""

    def make(directory: Path) -> Path:
        path = directory / name
        path.write_bytes(data)
        return path

    return make


def together(*makers: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Return a function that makes several files in a directory. The last one is opened."""
    return lambda directory: [make(directory) for make in makers][-1]

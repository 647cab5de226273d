"""What a hostile file is: how it is made, and what the documentation promises for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CARTRIDGE = "CartridgeError"
VOCABULARY = "VocabularyError"
ACCEPTED = "accepted"


class Case(NamedTuple):
    """One file, or another thing that has a file's name.

    `make` makes it in an empty directory and returns its path. `error` is the class that opening raises, or `ACCEPTED`
    for a file that must be opened with the ids of the good one. `promise` is the message, as it stands in the table of
    the documentation (see promises.py), or empty for any of them; `says` is a regular expression that the message has
    to match besides. `only` names the one way in (see child.py) that gives this error, where the others give another.
    `names` is the file in the same directory that the message is about, where that is not the one that was opened.
    """

    name: str
    make: Callable[[Path], Path]
    error: str
    promise: str
    says: str = ""
    only: str = ""
    names: str = ""


def file_of(data: bytes, name: str = "hostile.dat") -> Callable[[Path], Path]:
    """Makes a file with these bytes."""

    def make(directory: Path) -> Path:
        path = directory / name
        path.write_bytes(data)
        return path

    return make

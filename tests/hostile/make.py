"""Makes the gallery of hostile files from the cases in containers.py, contents.py, documents.py, places.py and
version_2.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile import containers, contents, documents, places, version_2
from tests.hostile.case import Case

PARTS: dict[str, Callable[[], Iterator[Case]]] = {
    "containers": containers.cases,
    "contents": contents.cases,
    "version_2": version_2.cases,
    "documents": documents.cases,
    "places": places.cases,
}


def make(directory: Path, cases: Iterator[Case]) -> list[tuple[Case, Path]]:
    """Make the file of every case in its own directory. Returns each case with the path of its file."""
    made = []
    for number, case in enumerate(cases):
        place = directory / f"{number:03}"
        place.mkdir(parents=True)
        made.append((case, case.make(place)))
    return made

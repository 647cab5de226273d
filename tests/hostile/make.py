"""Makes the gallery: ``python tests/hostile/make.py DIRECTORY`` writes every hostile file, and says what each is.

Each case has a directory of its own, ``NNN``, and a line in ``gallery.tsv``: its path, its name, what is wrong with it,
the error that it must give and the message of that, as docs/cartridge-format.md writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))

from tests.hostile import containers, contents, documents, places, version_2
from tests.hostile.case import Case

PARTS: dict[str, Callable[[], Iterator[Case]]] = {
    "containers": containers.cases,
    "contents": contents.cases,
    "lies": contents.known_lies,
    "version_2": version_2.cases,
    "documents": documents.cases,
    "places": places.cases,
}


def make(directory: Path, cases: Iterator[Case]) -> list[tuple[Case, Path]]:
    """Every case in a directory of its own, with its path."""
    made = []
    for number, case in enumerate(cases):
        place = directory / f"{number:03}"
        place.mkdir(parents=True)
        made.append((case, case.make(place)))
    return made


def main(directory: Path) -> None:
    with (directory / "gallery.tsv").open("w", encoding="utf-8", errors="surrogateescape") as table:
        for part, cases in PARTS.items():
            for case, path in make(directory / part, cases()):
                row = (repr(str(path.relative_to(directory)))[1:-1], case.name, case.wrong, case.error, case.promise)
                table.write("\t".join(row) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIRECTORY")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    main(Path(sys.argv[1]))

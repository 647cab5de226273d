"""The interface of a storage, and its implementation for local or mounted directories.

Paths are strings with ``/`` between their parts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from crayon_hf.corpora.formats import WrittenFile, remove_leftovers
from crayon_hf.corpora.formats.output import write_whole
from crayon_hf.util.files import remove_files

Item = TypeVar("Item")
Result = TypeVar("Result")

PLACE = "_crayon"
"""The directory beside an output that has the job's state."""


class Storage:
    """Files by path. Changes are durable when a method returns. Files appear atomically: synced first, then renamed."""

    def read(self, path: str) -> bytes | None:
        """Return the contents of a file, or None if it does not exist."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def place(self, path: str, parts: Iterable[bytes]) -> None:
        """Write or replace a file. Its parts need not fit in memory together."""
        write_whole(path, parts)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file if it does not exist. Returns whether it has `data` now: of several processes with different
        data, exactly one gets True."""
        return write_whole(path, [data], is_new=True) or self.read(path) == data

    def is_there(self, path: str) -> bool:
        """Whether a file, directory or link of that name exists."""
        return os.path.lexists(path)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes, or -1 if it does not exist."""
        try:
            return os.stat(path).st_size
        except OSError:
            return -1

    def names(self, directory: str) -> list[str]:
        """The names in a directory, if it exists. Raises NotADirectoryError for a file."""
        try:
            return os.listdir(directory or ".")
        except FileNotFoundError:
            return []

    def inside(self, path: str) -> list[str] | None:
        """Return `names` of a directory, or None if the path is anything else, such as a link."""
        return os.listdir(path) if os.path.isdir(path) and not os.path.islink(path) else None

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, ignoring missing ones."""
        remove_files(paths)

    def make(self, directory: str) -> None:
        """Create a directory, if it does not exist."""
        os.makedirs(directory, exist_ok=True)

    def drop(self, directory: str) -> None:
        """Remove a directory, if it exists and is empty."""
        with contextlib.suppress(OSError):
            os.rmdir(directory)

    def remove_leftovers(self, directory: str) -> None:
        """Remove temporary files of processes that have ended."""
        for place in (directory or ".", os.path.join(directory, PLACE)):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                remove_leftovers(place)

    def end_uploads(self, directory: str) -> None:
        """Abort unfinished uploads of a job's files to a directory. A process that is still uploading one of the files
        starts that upload again."""

    @contextlib.contextmanager
    def workplace(self, directory: str) -> Iterator[str]:
        """A local directory in which to write shards of `directory`."""
        yield directory

    def publish(self, workplace: str, directory: str, files: Sequence[WrittenFile]) -> None:
        """Move the files of a finished shard to their directory, in order. Readers look for the last one."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        """Call `function` for each item, in parallel for a remote storage. Results are in order."""
        return map(function, items)


LOCAL = Storage()

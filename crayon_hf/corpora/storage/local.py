"""The interface of a storage, and its implementation for local or mounted directories.

Paths are strings with ``/`` between their parts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from crayon_hf.corpora.formats import Format, WrittenFile, remove_leftovers
from crayon_hf.corpora.formats.output import write_whole
from crayon_hf.errors import JobError
from crayon_hf.util.files import remove_files

Item = TypeVar("Item")
Result = TypeVar("Result")

PLACE = "_crayon"
"""The directory beside an output that has the job's state."""


def taken_error(path: str) -> JobError:
    """The error for a foreign file at the path of an output."""
    return JobError(f"{path} exists, but is not a file of this job: move it, or give another output")


class Storage:
    """Files by path. Changes are durable when a method returns. Files appear atomically: synced first, then renamed."""

    lists_all = True
    """Whether listings of directories are always current. Jobs do not rely on listings that may be stale."""

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

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a file."""
        self.place(path, [data])

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
        """The names in a directory. Raises FileNotFoundError or NotADirectoryError."""
        return os.listdir(directory or ".")

    def inside(self, path: str) -> list[str] | None:
        """Return `names` of a directory, or None if the path is anything else, such as a link."""
        return os.listdir(path) if os.path.isdir(path) and not os.path.islink(path) else None

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, ignoring missing ones."""
        remove_files(paths)

    def remove_listed(self, directory: str, names: Sequence[str]) -> None:
        """`remove` for checked names in a directory, ``a`` or ``a/b``. Also removes subdirectories left empty."""
        places = dict.fromkeys(place for name in names if (place := name.rpartition("/")[0]))
        for place in places:
            if os.path.islink(os.path.join(directory, place)):
                raise JobError(f"{os.path.join(directory, place)} is a link, which is not a job's: nothing was removed")
        remove_files(os.path.join(directory, name) for name in names)
        for place in places:
            with contextlib.suppress(OSError):  # it has a file of another program, or was removed
                os.rmdir(os.path.join(directory, place))

    def make(self, directory: str) -> None:
        """Create a directory, if it does not exist."""
        os.makedirs(directory, exist_ok=True)

    def drop(self, directory: str) -> None:
        """Remove an empty directory. Raises OSError if it is not empty."""
        os.rmdir(directory)

    def remove_leftovers(self, directory: str) -> None:
        """Remove temporary files of processes that have ended."""
        for place in (directory or ".", os.path.join(directory, PLACE)):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                remove_leftovers(place)

    def end_uploads(self, directory: str, names: Collection[str] | None = None) -> None:
        """Abort unfinished uploads of a job's files to a directory, or only those of `names`. A process that is still
        uploading one of the files starts that upload again."""

    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        """Run ``Format.merge``."""
        return format.merge(directory, shards)

    @contextlib.contextmanager
    def workplace(self, directory: str) -> Iterator[str]:
        """A local directory in which to write shards of `directory`."""
        yield directory

    def publish(self, workplace: str, directory: str, files: Sequence[WrittenFile]) -> None:
        """Move the files of a finished shard to their directory, in order; the last is the one that readers look for.

        Raises:
            JobError: A file of another size exists. Another attempt at the job would have written the same bytes.
        """

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        """Call `function` for each item, in parallel for a remote storage. Results are in order."""
        return map(function, items)


LOCAL = Storage()

"""What a job asks of the place that its files are in, and a directory of this machine, or one that is mounted, as such.

Paths are strings, with ``/`` between their parts.
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
"""The directory beside an output that has what a job needs to resume."""


def taken_error(path: str) -> JobError:
    """The error for a file that is in the way of an output."""
    return JobError(f"{path} is there, and nothing says that it is ours: move it, or give another output")


class Storage:
    """Files by their paths. Whatever changes something is durable when it returns, and files appear whole: by a rename,
    after they were forced to the disk."""

    lists_all = True
    """False where a listing may lack files, or have files that are gone: then nothing depends on one."""

    def read(self, path: str) -> bytes | None:
        """A file, whole; None when there is none."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def place(self, path: str, parts: Iterable[bytes]) -> None:
        """Write a file, or replace it. Its parts need not fit in memory together."""
        write_whole(path, parts)

    def write(self, path: str, data: bytes) -> None:
        """Write a file, or replace it."""
        self.place(path, [data])

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless there is one: whether the file has `data` now. Of several processes that create a file
        at once with different data, one gets True."""
        return write_whole(path, [data], is_new=True) or self.read(path) == data

    def is_there(self, path: str) -> bool:
        """Whether there is anything of that name."""
        return os.path.lexists(path)

    def size(self, path: str) -> int:
        """Bytes of a file; -1 when there is none."""
        try:
            return os.stat(path).st_size
        except OSError:
            return -1

    def names(self, directory: str) -> list[str]:
        """The names in a directory. FileNotFoundError or NotADirectoryError where it is none."""
        return os.listdir(directory or ".")

    def inside(self, path: str) -> list[str] | None:
        """`names` of a directory; None for anything else, a link as well."""
        return os.listdir(path) if os.path.isdir(path) and not os.path.islink(path) else None

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that may be there."""
        remove_files(paths)

    def remove_listed(self, directory: str, names: Sequence[str]) -> None:
        """`remove` for checked names in a directory, ``a`` or ``a/b``, and for directories that are empty then."""
        places = dict.fromkeys(place for name in names if (place := name.rpartition("/")[0]))
        for place in places:
            if os.path.islink(os.path.join(directory, place)):
                raise JobError(f"{os.path.join(directory, place)} is a link, which no job makes; nothing was removed")
        remove_files(os.path.join(directory, name) for name in names)
        for place in places:
            with contextlib.suppress(OSError):  # it has a file of another program, or it is gone
                os.rmdir(os.path.join(directory, place))

    def make(self, directory: str) -> None:
        """Have a directory."""
        os.makedirs(directory, exist_ok=True)

    def drop(self, directory: str) -> None:
        """Remove a directory that is empty. OSError where it cannot be."""
        os.rmdir(directory)

    def remove_leftovers(self, directory: str) -> None:
        """Remove temporary files of processes that have ended; those of running ones stay."""
        for place in (directory or ".", os.path.join(directory, PLACE)):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                remove_leftovers(place)

    def end_uploads(self, directory: str, names: Collection[str] | None = None) -> None:
        """Abort unfinished uploads of a job's files in a directory; `names`: only of these. A process that is still
        uploading one begins again."""

    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        """As ``Format.merge``."""
        return format.merge(directory, shards)

    @contextlib.contextmanager
    def workplace(self, directory: str) -> Iterator[str]:
        """A directory of this machine where shards of `directory` are written."""
        yield directory

    def publish(self, workplace: str, directory: str, files: Sequence[WrittenFile]) -> None:
        """Bring the files of a finished shard to their directory, in order: the last is the one that readers look for.

        JobError for a file of another size that is there: another attempt at the job writes the same bytes.
        """

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        """`function` of each, in order; at once, where waiting is most of it."""
        return map(function, items)


LOCAL = Storage()

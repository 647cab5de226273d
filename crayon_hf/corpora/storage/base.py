"""What a job asks of the place that its files are in. Paths are strings, with ``/`` between their parts."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from crayon_hf.corpora.formats import Format, WrittenFile
from crayon_hf.errors import JobError

Item = TypeVar("Item")
Result = TypeVar("Result")

PLACE = "_crayon"
"""The directory beside an output that has what a job needs to resume."""


def taken_error(path: str) -> JobError:
    """The error for a file that is in the way of an output."""
    return JobError(f"{path} is there, and nothing says that it is ours: move it, or give another output")


class Storage(ABC):
    """Files by their paths. Whatever changes something is durable when it returns, and files appear whole."""

    lists_all = True
    """False where a listing may lack files, or have files that are gone: then nothing depends on one."""

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """A file, whole; None when there is none."""

    @abstractmethod
    def place(self, path: str, parts: Iterable[bytes]) -> None:
        """Write a file, or replace it. Its parts need not fit in memory together."""

    def write(self, path: str, data: bytes) -> None:
        """Write a file, or replace it."""
        self.place(path, [data])

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless there is one: whether the file has `data` now. Of several processes that create a file
        at once with different data, one gets True."""

    @abstractmethod
    def is_there(self, path: str) -> bool:
        """Whether there is anything of that name."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Bytes of a file; -1 when there is none."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """The names in a directory. FileNotFoundError or NotADirectoryError where it is none."""

    @abstractmethod
    def inside(self, path: str) -> list[str] | None:
        """`names` of a directory; None for anything else, a link as well."""

    @abstractmethod
    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that may be there."""

    @abstractmethod
    def remove_listed(self, directory: str, names: Sequence[str]) -> None:
        """`remove` for checked names in a directory, ``a`` or ``a/b``, and for directories that are empty then."""

    @abstractmethod
    def make(self, directory: str) -> None:
        """Have a directory."""

    @abstractmethod
    def drop(self, directory: str) -> None:
        """Remove a directory that is empty. OSError where it cannot be."""

    @abstractmethod
    def remove_leftovers(self, directory: str) -> None:
        """Remove temporary files of processes that have ended; those of running ones stay."""

    @abstractmethod
    def end_uploads(self, directory: str, names: Collection[str] | None = None) -> None:
        """Abort unfinished uploads of a job's files in a directory; `names`: only of these. A process that is still
        uploading one begins again."""

    @abstractmethod
    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        """As ``Format.merge``."""

    @abstractmethod
    def workplace(self, directory: str) -> contextlib.AbstractContextManager[str]:
        """A directory of this machine where shards of `directory` are written."""

    @abstractmethod
    def publish(self, workplace: str, directory: str, files: Sequence[WrittenFile]) -> None:
        """Bring the files of a finished shard to their directory, in order: the last is the one that readers look for.

        JobError for a file of another size that is there: another attempt at the job writes the same bytes.
        """

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        """`function` of each, in order; at once, where waiting is most of it."""
        return map(function, items)

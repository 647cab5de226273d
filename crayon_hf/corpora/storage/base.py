"""What a job asks of the place that its files are in. Paths are strings, with ``/`` between their parts."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from crayon_hf.corpora.formats import Format, WrittenFile
    from crayon_hf.corpora.storage.lease import Lease

Item = TypeVar("Item")
Result = TypeVar("Result")


class Desk(ABC):
    """Where one output name is worked on, until its files are in their place."""

    beside: str
    """What the names of files that only this work needs begin with, on a disk of this machine."""
    keeps: bool
    """Whether those files are there still when the work goes on after a crash."""

    @abstractmethod
    def prefix(self, prefix: str) -> str:
        """Where a shard's files are written that are to have the prefix `prefix`."""

    @abstractmethod
    def publish(self, prefix: str, files: Sequence[WrittenFile]) -> None:
        """Bring the files of a finished shard to their place, in order: the last is the one that readers look for.

        JobError for a file that is there, if no attempt of ours can have written it.
        """

    @abstractmethod
    def fetch(self, path: str) -> None:
        """Have a file that was `kept` beside the output again, under its name on this machine."""

    @abstractmethod
    def keep(self, path: str) -> None:
        """What is in a file of this machine, whose name begins with `beside`, is not lost after this."""


class Storage(ABC):
    """Files by their paths. Whatever changes something is durable when it returns."""

    lists_all = True
    """False where a listing may lack what is there, or have what is not: then nothing depends on one."""

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """A file, whole; None when there is none."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file, or replace it."""

    @abstractmethod
    def place(self, path: str, parts: Iterable[bytes], temporary: str) -> None:
        """`write` of what need not be in memory; `temporary` is a path that nobody else writes to."""

    @abstractmethod
    def is_there(self, path: str) -> bool:
        """Whether there is anything of that name."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Bytes of a file; -1 when there is none."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """What is in a directory. FileNotFoundError or NotADirectoryError where it is none."""

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
    def sync(self, directory: str) -> None:
        """The names of a directory are on the disk."""

    @abstractmethod
    def remove_leftovers(self, directory: str, names: Collection[str] | None = None) -> None:
        """Remove what processes left that were killed while they wrote; `names`: only what was to become these."""

    @abstractmethod
    def remove_halves(self, directory: str, names: Collection[str]) -> None:
        """Remove what `write` left of these files of a directory when it was killed."""

    @abstractmethod
    def written(self, format: Format, prefix: str) -> list[str]:
        """As ``Format.written``."""

    @abstractmethod
    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        """As ``Format.merge``."""

    @abstractmethod
    def desk(self, output: str, goes_on: Callable[[], bool]) -> contextlib.AbstractContextManager[Desk]:
        """Where the files of `output` are worked on. `goes_on`: whether an earlier attempt may have left some."""

    @abstractmethod
    def lease(self, path: str, busy: str) -> Lease | None:
        """The right to write, as a lock that needs no disk in common; None where a lock of the system does."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        """`function` of each, in order; at once, where waiting is most of it."""
        return map(function, items)

"""A directory of this machine, or one that is mounted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence

from crayon_hf.corpora.formats import Format, WrittenFile, remove_leftovers
from crayon_hf.corpora.formats.output import write_whole
from crayon_hf.corpora.storage.base import PLACE, Storage
from crayon_hf.errors import JobError
from crayon_hf.util.files import remove_files


class Local(Storage):
    """Files appear by a rename, after they were forced to the disk."""

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def place(self, path: str, parts: Iterable[bytes]) -> None:
        write_whole(path, parts)

    def create(self, path: str, data: bytes) -> bool:
        return write_whole(path, [data], is_new=True) or self.read(path) == data

    def is_there(self, path: str) -> bool:
        return os.path.lexists(path)

    def size(self, path: str) -> int:
        try:
            return os.stat(path).st_size
        except OSError:
            return -1

    def names(self, directory: str) -> list[str]:
        return os.listdir(directory or ".")

    def inside(self, path: str) -> list[str] | None:
        return os.listdir(path) if os.path.isdir(path) and not os.path.islink(path) else None

    def remove(self, paths: Iterable[str]) -> None:
        remove_files(paths)

    def remove_listed(self, directory: str, names: Sequence[str]) -> None:
        places = dict.fromkeys(place for name in names if (place := name.rpartition("/")[0]))
        for place in places:
            if os.path.islink(os.path.join(directory, place)):
                raise JobError(f"{os.path.join(directory, place)} is a link, which no job makes; nothing was removed")
        remove_files(os.path.join(directory, name) for name in names)
        for place in places:
            with contextlib.suppress(OSError):  # it has a file of another program, or it is gone
                os.rmdir(os.path.join(directory, place))

    def make(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)

    def drop(self, directory: str) -> None:
        os.rmdir(directory)

    def remove_leftovers(self, directory: str) -> None:
        for place in (directory or ".", os.path.join(directory, PLACE)):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                remove_leftovers(place)

    def end_uploads(self, directory: str, names: Collection[str] | None = None) -> None:
        """There are none."""

    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        return format.merge(directory, shards)

    @contextlib.contextmanager
    def workplace(self, directory: str) -> Iterator[str]:
        yield directory

    def publish(self, workplace: str, directory: str, files: Sequence[WrittenFile]) -> None:
        """They are there."""


LOCAL = Local()

"""A directory of this machine, or one that is mounted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from crayon_hf.corpora.formats import remove_leftovers
from crayon_hf.corpora.storage.base import Desk, Storage
from crayon_hf.errors import JobError
from crayon_hf.util.files import final_name, remove_files, sync_directory, write_atomic

if TYPE_CHECKING:
    from crayon_hf.corpora.formats import Format, WrittenFile

PLACE = "_crayon"
"""The directory beside an output that has what is needed to go on."""


class Local(Storage):
    """Files appear by a rename, after they were forced to the disk."""

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> None:
        write_atomic(path, data)

    def place(self, path: str, parts: Iterable[bytes], temporary: str) -> None:
        with open(temporary, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_directory(os.path.dirname(path))

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
            with contextlib.suppress(OSError):  # somebody else's file is in it, or it is gone
                os.rmdir(os.path.join(directory, place))

    def make(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)

    def drop(self, directory: str) -> None:
        os.rmdir(directory)

    def sync(self, directory: str) -> None:
        sync_directory(directory)

    def remove_leftovers(self, directory: str, names: Collection[str] | None = None) -> None:
        remove_leftovers(directory or ".", names)
        if names is None:  # nobody else is at work in it
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                place = os.path.join(directory, PLACE)
                remove_files(os.path.join(place, name) for name in os.listdir(place) if final_name(name) is not None)

    def remove_halves(self, directory: str, names: Collection[str]) -> None:
        remove_files(
            os.path.join(directory, name) for name in os.listdir(directory or ".") if final_name(name) in names
        )

    def written(self, format: Format, prefix: str) -> list[str]:
        return format.written(prefix)

    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        return format.merge(directory, shards)

    @contextlib.contextmanager
    def desk(self, output: str, goes_on: Callable[[], bool]) -> Iterator[Desk]:
        yield _Desk(output)

    def lease(self, path: str, busy: str) -> None:
        return None


class _Desk(Desk):
    """The output's directory itself."""

    keeps = True

    def __init__(self, output: str) -> None:
        directory, name = os.path.split(output)
        self.beside = os.path.join(directory, PLACE, name)

    def prefix(self, prefix: str) -> str:
        return prefix

    def publish(self, prefix: str, files: Sequence[WrittenFile]) -> None:
        pass

    def fetch(self, path: str) -> None:
        pass

    def keep(self, path: str) -> None:
        pass


LOCAL = Local()

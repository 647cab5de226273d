"""Files that are written under temporary names until they are complete, and removed as leftovers if their writer died.

Temporary names come from `crayon_hf.util.files.temporary_path`, with the suffix `ENDING`. A writer keeps its temporary
directory locked (`flock`). The lock ends with the process, which tells leftovers from directories in use.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.util.files import final_name, link_new, sync_directory, temporary_path, try_lock

ENDING = ".crayon-tmp"
_GATHERED = 1 << 20
"""Bytes of the write buffer."""


def remove_leftovers(directory: str, final: str | None = None) -> list[str]:
    """Remove temporary directories whose writers have died. Returns their paths, sorted.

    With `final`, only directories for this final name are removed.
    """
    removed = []
    for name in sorted(os.listdir(directory)):
        found, path = final_name(name, ENDING), os.path.join(directory, name)
        if found is not None and final in (None, found) and os.path.isdir(path):
            with _taken(path) as is_ours:
                if is_ours:
                    with contextlib.suppress(FileNotFoundError):
                        shutil.rmtree(path)
                    removed.append(path)
    return removed


def _lock(descriptor: int) -> bool:
    """Lock a directory. Return False if another process has locked it. On Windows directories cannot be locked, so
    every temporary directory counts as a leftover."""
    return os.name == "nt" or try_lock(descriptor)


@contextlib.contextmanager
def _taken(path: str) -> Iterator[bool]:
    """Yield whether the directory has no writer. Within the context it stays locked, so no process can take it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:  # its writer has just finished
        yield False
        return
    except OSError:
        yield True
        return
    try:
        yield _lock(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Make system errors name the final file instead of the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


@contextlib.contextmanager
def workplace(path: str) -> Iterator[str]:
    """Make a temporary directory for new files, in the directory where the finished files go.

    `path` is the final name of its files, or the start of their names.
    """
    descriptor = None
    while descriptor is None:
        place = temporary_path(path, ENDING)
        with named(path):
            os.mkdir(place)
        if os.name == "nt":  # directories cannot be opened there
            break
        with contextlib.suppress(FileNotFoundError):  # another process may remove the unlocked directory
            descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            if not _lock(descriptor) or not os.path.isdir(place):
                os.close(descriptor)
                descriptor = None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


class Output:
    """A new file, written sequentially in a workplace. `place` gives it its final name.

    Every OSError names the final file.
    """

    def __init__(self, path: str, workplace: str) -> None:
        """`path` is the final name. An existing file of that name stays until `place`."""
        self.path = path
        self.size = 0
        """Bytes written so far."""
        self._temporary = os.path.join(workplace, os.path.basename(path))
        with named(path):
            self._file = open(self._temporary, "xb", _GATHERED)  # noqa: SIM115

    def write(self, data: Any) -> int:
        """Write a whole buffer of bytes, or a numpy array. Returns the number of bytes."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        with named(self.path):
            self._file.write(view)
        self.size += len(view)
        return len(view)

    def overwrite_start(self, data: bytes) -> None:
        """Overwrite the first bytes of the file with `data`."""
        with named(self.path):
            self._file.seek(0)
            self._file.write(data)
            self._file.seek(0, os.SEEK_END)

    def sync(self) -> None:
        """Sync the file to disk and close it. Idempotent."""
        if not self._file.closed:
            with named(self.path), self._file:
                self._file.flush()
                os.fsync(self._file.fileno())

    def is_there_already(self) -> bool:
        """Whether the final file exists with the same bytes. Call it after `sync`."""
        try:
            return not os.path.islink(self.path) and filecmp.cmp(self._temporary, self.path, shallow=False)
        except OSError:
            return False

    def place(self, is_new: bool = False) -> bool:
        """Rename the file to its final name, replacing any other. Call it after `sync`.

        With `is_new`, leave an existing file of that name and return False.
        """
        with named(self.path):
            if is_new and link_new(self._temporary, self.path):
                return True
            if is_new and os.path.lexists(self.path):  # else the file system has no hard links
                return False
            os.replace(self._temporary, self.path)
        return True

    def close(self) -> None:
        """Close the file, written completely or not."""
        with contextlib.suppress(OSError):
            self._file.close()


def write_whole(path: str, parts: Iterable[Any], is_new: bool = False) -> bool:
    """Write a file atomically and durably. With `is_new`, leave an existing file and return False."""
    with workplace(path) as place, contextlib.closing(Output(path, place)) as output:
        for part in parts:
            output.write(part)
        output.sync()
        is_written = output.place(is_new)
    sync_directory(os.path.dirname(path) or ".")
    return is_written


class Spool:
    """Numbers of one dtype, kept in an unnamed temporary file. If the process is killed, the file disappears."""

    def __init__(self, path: str, dtype: npt.DTypeLike) -> None:
        """Make the temporary file in the directory of `path`. Errors name `path`."""
        self.count = 0
        self._path, self._dtype = path, np.dtype(dtype)
        directory, name = os.path.split(path)
        with named(path):
            self._file = tempfile.TemporaryFile(dir=directory or ".", prefix=f".{name}.", suffix=ENDING)  # noqa: SIM115

    def append(self, numbers: npt.NDArray[Any]) -> None:
        """Append numbers of the spool's dtype."""
        self.count += len(numbers)
        with named(self._path):
            self._file.write(numbers.astype(self._dtype, copy=False).view("u1").data)

    def blocks(self, size: int = 1 << 18) -> Iterator[npt.NDArray[np.int64]]:
        """Yield all numbers in order, `size` at a time, as int64."""
        with named(self._path):
            self._file.seek(0)
            while data := self._file.read(size * self._dtype.itemsize):
                yield np.frombuffer(data, self._dtype).astype(np.int64)
            self._file.seek(0, os.SEEK_END)

    def mapped(self) -> npt.NDArray[Any]:
        """All numbers, memory-mapped."""
        with named(self._path):
            self._file.flush()
            return np.asarray(np.memmap(self._file, self._dtype, "r")) if self.count else np.zeros(0, self._dtype)

    def close(self) -> None:
        """Delete the temporary file."""
        with contextlib.suppress(OSError):
            self._file.close()

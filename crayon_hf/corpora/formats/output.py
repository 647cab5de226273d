"""Files that have a temporary name until they are whole, and are known as left over when their process is gone.

A temporary name is one of `crayon_hf.util.files`, with an ending of its own. Whoever writes it holds a lock on it
(`flock`), which ends with the process, so a leftover is told from a file that another process is writing.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.util.files import final_name, sync_directory, temporary_path, try_lock

ENDING = ".crayon-tmp"
_GATHERED = 1 << 20
"""Smaller pieces are written together, in bytes."""


def remove_leftovers(directory: str, names: Iterable[str] | None = None) -> list[str]:
    """Remove what has a temporary name and no process any more; the paths, sorted. `names`: only what was to become
    one of these (names in `directory`)."""
    wanted = None if names is None else set(names)
    removed = []
    for name in sorted(os.listdir(directory)):
        final = final_name(name, ENDING)
        if final is not None and (wanted is None or final in wanted):
            path = os.path.join(directory, name)
            with _taken(path) as is_ours:
                if is_ours:
                    remove(path)
                    removed.append(path)
    return removed


def remove(path: str) -> None:
    """Remove a file or a whole directory, which nobody sees half removed; nothing there is fine."""
    with contextlib.suppress(FileNotFoundError):
        if not os.path.isdir(path) or os.path.islink(path):
            try:
                os.unlink(path)
                return
            except OSError:  # another attempt at the same shard may just have put its directory there
                if not os.path.isdir(path):
                    raise
        if path.endswith(ENDING):
            shutil.rmtree(path)
            return
        temporary = temporary_path(path, ENDING)
        os.rename(path, temporary)
        with _taken(temporary) as is_ours:
            if is_ours:
                shutil.rmtree(temporary)


def _lock(descriptor: int) -> bool:
    """False when another process has it. Windows locks bytes, which nobody else could read then: there is no lock, and
    what has a temporary name counts as left over."""
    return os.name == "nt" or try_lock(descriptor)


@contextlib.contextmanager
def _taken(path: str) -> Iterator[bool]:
    """Whether nobody holds what is there; for so long it is held by us, or its writer could come in between."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:  # it has its own name now
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
def _named(path: str) -> Iterator[None]:
    """An error of the system names the file that it is about, by its own name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


class Output:
    """One new file, written from its start to its end under a temporary name; `place` gives it its own.

    Every OSError names the file by what it is to be called.
    """

    def __init__(self, path: str) -> None:
        """`path` is the name that it will have; an existing file of that name stays until `place`."""
        self.path = path
        self.size = 0
        """Bytes so far."""
        self._temporary: str | None = None
        self._placed: os.stat_result | None = None
        self._had_another = False
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        while True:
            temporary = temporary_path(path, ENDING)
            with _named(path):
                descriptor = os.open(temporary, flags, 0o666)
            # Between the two steps another process may take it for a leftover.
            if _lock(descriptor) and os.fstat(descriptor).st_nlink:
                break
            os.close(descriptor)
        self._temporary, self._file = temporary, os.fdopen(descriptor, "wb", _GATHERED)

    def write(self, data: Any) -> int:
        """Any buffer of bytes, numpy arrays too; all of it is written or the error says why not. How many bytes."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        with _named(self.path):
            self._file.write(view)
        self.size += len(view)
        return len(view)

    def overwrite_start(self, data: bytes) -> None:
        """Put `data` over the first bytes of the file."""
        with _named(self.path):
            self._file.seek(0)
            self._file.write(data)
            self._file.seek(0, os.SEEK_END)

    def sync(self) -> None:
        """Everything written reaches the disk, under the temporary name."""
        with _named(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())

    def place(self) -> None:
        """Give the file its name, after `sync`. The lock is held until it has it."""
        assert self._temporary is not None
        with _named(self.path):
            self._placed, self._had_another = os.fstat(self._file.fileno()), os.path.lexists(self.path)
            os.replace(self._temporary, self.path)
            self._temporary = None
            self._file.close()

    def place_new(self) -> bool:
        """`place`, unless there is a file of that name: False then."""
        assert self._temporary is not None
        with _named(self.path):
            try:
                os.link(self._temporary, self.path)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links
                if os.path.lexists(self.path):
                    return False
                os.replace(self._temporary, self.path)
                self._temporary = None
        return True

    def is_there_already(self) -> bool:
        """Whether the file of this name has these bytes, after `sync`."""
        assert self._temporary is not None
        return _has_bytes_of(self._temporary, self.path)

    def withdraw(self) -> None:
        """Remove the file that `place` gave its name, if that was a new one: another attempt at the same shard may
        count on a file that was there."""
        with contextlib.suppress(OSError):
            if self._placed is None or self._had_another:
                return
            if os.path.samestat(self._placed, os.stat(self.path)):
                os.unlink(self.path)

    def discard(self) -> None:
        """Remove the temporary file, whatever state it is in; after `place` this does nothing."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = None


class OutputDirectory:
    """A new directory, filled under a temporary name; `place` puts it where an older one may be."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_placed = False
        self._descriptor: int | None = None
        self._temporary: str | None = None

    def make(self) -> str:
        """Make the directory, under a temporary name: this one."""
        while True:
            temporary = temporary_path(self.path, ENDING)
            with _named(self.path):
                os.mkdir(temporary)
            self._temporary = temporary
            if os.name == "nt":  # directories are not opened there
                break
            try:
                descriptor = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            if _lock(descriptor) and os.path.isdir(temporary):
                self._descriptor = descriptor
                break
            os.close(descriptor)
        return temporary

    def write(self, name: str, pieces: Iterable[Any]) -> int:
        """A file in the directory, synced to the disk; its size in bytes."""
        assert self._temporary is not None
        final = os.path.join(self.path, name)
        with _named(final), open(os.path.join(self._temporary, name), "xb") as file:
            for piece in pieces:
                file.write(memoryview(piece).cast("B") if len(piece) else b"")
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def place(self) -> None:
        """Give the directory its name; an older one is removed, and one with the same bytes stays."""
        assert self._temporary is not None
        sync_directory(self._temporary)
        with _named(self.path):
            while not self.is_placed:
                try:
                    os.rename(self._temporary, self.path)
                    self.is_placed = True
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                        raise
                    if _has_bytes_of(self._temporary, self.path):
                        self.discard()
                        return
                    remove(self.path)
        self._temporary = None
        self._close()

    def discard(self) -> None:
        """Remove the directory under its temporary name; after `place` this does nothing."""
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _close(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def write_whole(path: str, parts: Iterable[Any], is_new: bool = False) -> bool:
    """Write a file that appears whole, durably. With `is_new` a file that is there stays: False then."""
    output = Output(path)
    try:
        for part in parts:
            output.write(part)
        output.sync()
        if is_new:
            is_written = output.place_new()
        else:
            output.place()
            is_written = True
    finally:
        output.discard()
    sync_directory(os.path.dirname(path) or ".")
    return is_written


def _has_bytes_of(path: str, other: str) -> bool:
    """Whether two files, or two directories of files, are the same."""
    if os.path.islink(other):
        return False
    try:
        if not os.path.isdir(path):
            return filecmp.cmp(path, other, shallow=False)
        names = os.listdir(path)
        return sorted(names) == sorted(os.listdir(other)) and all(
            filecmp.cmp(os.path.join(path, name), os.path.join(other, name), shallow=False) for name in names
        )
    except OSError:
        return False


class Spool:
    """Numbers of one dtype that wait on the disk, in a file without a name: a killed process leaves nothing."""

    def __init__(self, path: str, dtype: npt.DTypeLike) -> None:
        """In the directory of `path`, which the errors name."""
        self.count = 0
        self._path, self._dtype = path, np.dtype(dtype)
        directory, name = os.path.split(path)
        with _named(path):
            self._file = tempfile.TemporaryFile(dir=directory or ".", prefix=f".{name}.", suffix=ENDING)  # noqa: SIM115

    def append(self, numbers: npt.NDArray[Any]) -> None:
        """Numbers of the spool's dtype, at the end."""
        self.count += len(numbers)
        with _named(self._path):
            self._file.write(numbers.astype(self._dtype, copy=False).view("u1").data)

    def blocks(self, size: int = 1 << 18) -> Iterator[npt.NDArray[np.int64]]:
        """All numbers from the first on, `size` at a time, as int64."""
        with _named(self._path):
            self._file.seek(0)
            while data := self._file.read(size * self._dtype.itemsize):
                yield np.frombuffer(data, self._dtype).astype(np.int64)
            self._file.seek(0, os.SEEK_END)

    def mapped(self) -> npt.NDArray[Any]:
        """All numbers, where they are on the disk."""
        with _named(self._path):
            self._file.flush()
            return np.asarray(np.memmap(self._file, self._dtype, "r")) if self.count else np.zeros(0, self._dtype)

    def close(self) -> None:
        """Give the space back."""
        with contextlib.suppress(OSError):
            self._file.close()

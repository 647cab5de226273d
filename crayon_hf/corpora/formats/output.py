"""Files that are made in a directory with a temporary name until they are whole, which is known as left over when its
process is gone.

A temporary name is one of `crayon_hf.util.files`, with an ending of its own. Whoever writes in such a directory holds a
lock on it (`flock`), which ends with the process, so a leftover is told from one that another process fills.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crayon_hf.util.files import final_name, sync_directory, temporary_path, try_lock

if TYPE_CHECKING:
    from types import TracebackType

ENDING = ".crayon-tmp"
_GATHERED = 1 << 20
"""Smaller pieces are written together, in bytes."""


def remove_leftovers(directory: str, final: str | None = None) -> list[str]:
    """Remove what has a temporary name and no process any more; the paths, sorted. `final`: only what was made for
    files that begin with this name."""
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
    """False when another process has it. Windows locks bytes, which nobody else could read then: there is no lock, and
    what has a temporary name counts as left over."""
    return os.name == "nt" or try_lock(descriptor)


@contextlib.contextmanager
def _taken(path: str) -> Iterator[bool]:
    """Whether nobody holds what is there; for so long it is held by us, or its writer could come in between."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:  # its process has just ended
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
    """An error of the system names the file that it is about, by its own name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


class Workplace:
    """A directory with a temporary name, beside what is made in it."""

    def __init__(self, path: str) -> None:
        """`path` is what its files are called later, or what their names begin with."""
        self._descriptor: int | None = None
        while True:
            self.path = temporary_path(path, ENDING)
            with named(path):
                os.mkdir(self.path)
            if os.name == "nt":  # directories are not opened there
                return
            with contextlib.suppress(FileNotFoundError):  # between the two steps another process may take it
                descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
                if _lock(descriptor) and os.path.isdir(self.path):
                    self._descriptor = descriptor
                    return
                os.close(descriptor)

    def __enter__(self) -> Workplace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


class Output:
    """One new file, written from its start to its end in a workplace; `place` gives it its name.

    Every OSError names the file by what it is to be called.
    """

    def __init__(self, path: str, workplace: str) -> None:
        """`path` is the name that it will have; an existing file of that name stays until `place`."""
        self.path = path
        self.size = 0
        """Bytes so far."""
        self._temporary = os.path.join(workplace, os.path.basename(path))
        with named(path):
            self._file = open(self._temporary, "xb", _GATHERED)  # noqa: SIM115

    def write(self, data: Any) -> int:
        """Any buffer of bytes, numpy arrays too; all of it is written or the error says why not. How many bytes."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        with named(self.path):
            self._file.write(view)
        self.size += len(view)
        return len(view)

    def overwrite_start(self, data: bytes) -> None:
        """Put `data` over the first bytes of the file."""
        with named(self.path):
            self._file.seek(0)
            self._file.write(data)
            self._file.seek(0, os.SEEK_END)

    def sync(self) -> None:
        """Everything written reaches the disk, and the file is closed; then this does nothing."""
        if not self._file.closed:
            with named(self.path), self._file:
                self._file.flush()
                os.fsync(self._file.fileno())

    def is_there_already(self) -> bool:
        """Whether the file of this name has these bytes, after `sync`."""
        try:
            return not os.path.islink(self.path) and filecmp.cmp(self._temporary, self.path, shallow=False)
        except OSError:
            return False

    def place(self) -> None:
        """Give the file its name, after `sync`."""
        with named(self.path):
            os.replace(self._temporary, self.path)

    def place_new(self) -> bool:
        """`place`, unless there is a file of that name: False then."""
        with named(self.path):
            try:
                os.link(self._temporary, self.path)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links
                if os.path.lexists(self.path):
                    return False
                os.replace(self._temporary, self.path)
        return True

    def close(self) -> None:
        """Whatever became of it."""
        with contextlib.suppress(OSError):
            self._file.close()


def write_whole(path: str, parts: Iterable[Any], is_new: bool = False) -> bool:
    """Write a file that appears whole, durably. With `is_new` a file that is there stays: False then."""
    with Workplace(path) as workplace, contextlib.closing(Output(path, workplace.path)) as output:
        for part in parts:
            output.write(part)
        output.sync()
        is_written = True
        if is_new:
            is_written = output.place_new()
        else:
            output.place()
    sync_directory(os.path.dirname(path) or ".")
    return is_written


class Spool:
    """Numbers of one dtype that wait on the disk, in a file without a name: a killed process leaves nothing."""

    def __init__(self, path: str, dtype: npt.DTypeLike) -> None:
        """In the directory of `path`, which the errors name."""
        self.count = 0
        self._path, self._dtype = path, np.dtype(dtype)
        directory, name = os.path.split(path)
        with named(path):
            self._file = tempfile.TemporaryFile(dir=directory or ".", prefix=f".{name}.", suffix=ENDING)  # noqa: SIM115

    def append(self, numbers: npt.NDArray[Any]) -> None:
        """Numbers of the spool's dtype, at the end."""
        self.count += len(numbers)
        with named(self._path):
            self._file.write(numbers.astype(self._dtype, copy=False).view("u1").data)

    def blocks(self, size: int = 1 << 18) -> Iterator[npt.NDArray[np.int64]]:
        """All numbers from the first on, `size` at a time, as int64."""
        with named(self._path):
            self._file.seek(0)
            while data := self._file.read(size * self._dtype.itemsize):
                yield np.frombuffer(data, self._dtype).astype(np.int64)
            self._file.seek(0, os.SEEK_END)

    def mapped(self) -> npt.NDArray[Any]:
        """All numbers, where they are on the disk."""
        with named(self._path):
            self._file.flush()
            return np.asarray(np.memmap(self._file, self._dtype, "r")) if self.count else np.zeros(0, self._dtype)

    def close(self) -> None:
        """Give the space back."""
        with contextlib.suppress(OSError):
            self._file.close()

"""Files that have a temporary name until they are whole, and are known as left over when their process is gone.

A temporary name is one of `crayon_hf.util.files`, with an ending of its own. Whoever writes it holds a lock on it
(`flock`), which ends with the process, so a leftover is told from a file that another process is writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from crayon_hf.util.files import final_name, sync_directory, temporary_path, try_lock

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ENDING = ".crayon-tmp"
_GATHERED = 1 << 20
"""Smaller pieces are written together, in bytes."""
_AT_ONCE = 1 << 30
"""In one call: Linux takes no more than 2 GiB."""


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
        self.closed = False
        self._pieces: list[bytes] = []
        self._gathered = 0
        self._temporary: str | None = None
        self._placed: os.stat_result | None = None
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        while True:
            temporary = temporary_path(path, ENDING)
            with _named(path):
                descriptor = os.open(temporary, flags, 0o666)
            # Between the two steps another process may take it for a leftover.
            if _lock(descriptor) and os.fstat(descriptor).st_nlink:
                break
            os.close(descriptor)
        self._temporary, self._descriptor = temporary, descriptor

    def write(self, data: Any) -> int:
        """Any buffer of bytes, numpy arrays too; all of it is written or the error says why not. How many bytes."""
        if self.closed:  # its descriptor may be another file's by now
            raise ValueError(f"{self.path} is closed")
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        self.size += len(view)
        if self._gathered + len(view) < _GATHERED:
            self._pieces.append(bytes(view))
            self._gathered += len(view)
            return len(view)
        self.flush()
        self._write(view)
        return len(view)

    def tell(self) -> int:
        """Bytes so far."""
        return self.size

    def flush(self) -> None:
        """Hand what was gathered to the system."""
        pieces, self._pieces, self._gathered = self._pieces, [], 0
        if pieces:
            self._write(memoryview(b"".join(pieces)))

    def overwrite_start(self, data: bytes) -> None:
        """Put `data` over the first bytes of the file."""
        self.flush()
        with _named(self.path):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._write(memoryview(data))
        with _named(self.path):
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def sync(self) -> None:
        """Everything written reaches the disk, under the temporary name."""
        self.flush()
        with _named(self.path):
            os.fsync(self._descriptor)

    def place(self) -> None:
        """Give the file its name, after `sync`. The lock is held until it has it."""
        assert self._temporary is not None
        with _named(self.path):
            self._placed = os.fstat(self._descriptor)
            os.replace(self._temporary, self.path)
        self._temporary = None
        self._close()

    def withdraw(self) -> None:
        """Remove the file that `place` gave its name, unless that is another's by now."""
        with contextlib.suppress(OSError):
            if self._placed is not None and os.path.samestat(self._placed, os.stat(self.path)):
                os.unlink(self.path)

    def discard(self) -> None:
        """Remove the temporary file, whatever state it is in; after `place` this does nothing."""
        self._pieces, self._gathered = [], 0
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = None

    def _write(self, view: memoryview) -> None:
        with _named(self.path):
            while len(view):
                view = view[os.write(self._descriptor, view[:_AT_ONCE]) :]

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            with _named(self.path):
                os.close(self._descriptor)


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
        final, size = os.path.join(self.path, name), 0
        with _named(final), open(os.path.join(self._temporary, name), "xb", buffering=0) as file:
            for piece in pieces:
                view = memoryview(piece).cast("B") if len(piece) else memoryview(b"")
                size += len(view)
                while len(view):
                    view = view[file.write(view[:_AT_ONCE]) or 0 :]
            os.fsync(file.fileno())
        return size

    def place(self) -> None:
        """Give the directory its name; what had it is removed."""
        assert self._temporary is not None
        sync_directory(self._temporary)
        with _named(self.path):
            while not self.is_placed:
                remove(self.path)
                try:
                    os.rename(self._temporary, self.path)
                    self.is_placed = True
                except OSError as error:  # another attempt at the same shard was faster
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
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


class Spool:
    """Numbers of one dtype that wait on the disk, in a file without a name: a killed process leaves nothing."""

    def __init__(self, path: str, dtype: npt.DTypeLike) -> None:
        """In the directory of `path`, which the errors name."""
        import numpy as np

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
        import numpy as np

        with _named(self._path):
            self._file.seek(0)
            while data := self._file.read(size * self._dtype.itemsize):
                yield np.frombuffer(data, self._dtype).astype(np.int64)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Give the space back."""
        with contextlib.suppress(OSError):
            self._file.close()

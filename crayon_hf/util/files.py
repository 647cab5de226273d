"""Atomic writes, and files that stay readable after they are deleted or replaced.

An unfinished file has a temporary name, ``.NAME.PID-RANDOM.tmp``, beside its final one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import BinaryIO

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, VocabularyError

MOST_BYTES = 1 << 30
"""The largest file that is read whole: a vocabulary, or a file beside one. The largest published tokenizer.json has
some 30 million bytes."""

MOST_OF_CARTRIDGE = 1 << 32
"""The largest cartridge, in bytes: the engine maps no larger one."""

_MOST_HELD = 64
"""The most files that are held open: a process has few descriptors, and the program needs most of them."""

_HELD = (errno.EACCES, errno.EDEADLK) if os.name == "nt" else (errno.EWOULDBLOCK, errno.EAGAIN)
_TEMPORARY = re.compile(r"\.(.+)\.\d+-[0-9a-f]{12}", re.DOTALL)


def temporary_path(path: str, ending: str = ".tmp") -> str:
    """Return a new temporary name beside `path`."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.getpid()}-{os.urandom(6).hex()}{ending}")


def final_name(name: str, ending: str = ".tmp") -> str | None:
    """Return the final name for a temporary name, or None for other names."""
    match = _TEMPORARY.fullmatch(name[: -len(ending)]) if name.endswith(ending) else None
    return match[1] if match else None


def write_atomic(
    path: str | os.PathLike[str],
    data: bytes | list[bytes],
    private: bool = False,
    unless: Callable[[], object] | None = None,
) -> None:
    """Write `data`, or its parts, to a new file beside `path`, then rename it over `path`.

    Other processes see the old or the new file, never a part. A process that has the old file mapped keeps its
    contents. A symbolic link at `path` is followed.

    Args:
        path: The file.
        data: The contents.
        private: For caches. The file is readable by its owner only. A link is replaced, because in a shared directory
            it could lead to any file. The rename is not synced: after a power loss the file may be missing and is made
            again.
        unless: Called if the file exists when the data is complete. If its result is true, the existing file stays:
            processes that write the same file at the same time then map one file, not a copy each.
    """
    target = os.path.abspath(path) if private else os.path.realpath(path)
    temporary = temporary_path(target)
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o600 if private else 0o666)) as file:
            file.writelines(data if isinstance(data, list) else (data,))
            file.flush()
            os.fsync(file.fileno())
        if unless is None or not (link_new(temporary, target) or unless()):
            os.replace(temporary, target)
        else:
            os.unlink(temporary)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if not private:
        sync_directory(os.path.dirname(target))


def link_new(temporary: str, target: str) -> bool:
    """Give a file a second name if that name is free. Return False if it is not, or without hard links."""
    try:
        os.link(temporary, target)
    except OSError:
        return False
    return True


def cache_root() -> str | None:
    """Return the directory of the user's caches: ``$XDG_CACHE_HOME/xerv/crayon``, else ``~/.cache/xerv/crayon``.

    Return None for a user without HOME and without an entry in the list of users.
    """
    base = os.path.expanduser(os.environ.get("XDG_CACHE_HOME", ""))
    if not os.path.isabs(base):  # XDG says to ignore relative paths
        base = os.path.expanduser(os.path.join("~", ".cache"))
    return os.path.join(base, "xerv", "crayon") if os.path.isabs(base) else None


def remove_files(paths: Iterable[str]) -> None:
    """Remove files durably. Missing ones are ignored."""
    directories = set()
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            directories.add(os.path.dirname(path) or ".")
    for directory in sorted(directories):
        sync_directory(directory)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process and for children that inherit the descriptor.

    Return False if another process has the lock. Return True if the file system has no locks.
    """
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _HELD
    return True


def sync_directory(directory: str) -> None:
    """Make renames in a directory durable, if the system can."""
    with contextlib.suppress(OSError):
        os.fsync(_core.HeldFile(directory, is_directory=True))


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading. Raise OSError for a pipe, a socket or a device: reading could block or never end."""
    if os.name == "nt":
        return open(path, "rb")
    try:
        return open(path, "rb", opener=_core.open_regular)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path)) from None


def read_source(path: str | os.PathLike[str]) -> bytes:
    """Read a vocabulary source, or a file beside one.

    Raise VocabularyError for more than `MOST_BYTES`, and OSError as `open_regular` does.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise _too_large(path, size)
        data = file.read(size + 1)
        if len(data) > size:  # another process is writing it
            data += file.read(MOST_BYTES + 1 - len(data))
            if len(data) > MOST_BYTES:
                raise _too_large(path, len(data))
        return data


def read_cartridge(path: str | os.PathLike[str]) -> bytes:
    """Read a cartridge. Raise CartridgeError if it exceeds `MOST_OF_CARTRIDGE`, and OSError as `open_regular` does."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_OF_CARTRIDGE:
            message = f"too large for a cartridge: {size} bytes, more than the {MOST_OF_CARTRIDGE} allowed"
            raise CartridgeError(f"{os.fspath(path)}: {message}")
        return file.read(size)


def _too_large(path: str | os.PathLike[str], size: int) -> VocabularyError:
    return VocabularyError(
        f"{os.fspath(path)} has {size} bytes, too many for a vocabulary: at most {MOST_BYTES} are allowed"
    )


class HeldFile:
    """A file that is held open, so that it can be read later even if its name is gone.

    If it cannot be held (Windows, or too many held files), `read` opens its path again.
    """

    __slots__ = ("_held", "path")

    def __init__(self, path: str) -> None:
        """Open the file at `path`. If it is missing, only `read` raises an error."""
        self.path = path
        self._held: _core.HeldFile | None = None
        if _core.HeldFile.count() < _MOST_HELD:
            with contextlib.suppress(OSError):
                self._held = _core.HeldFile(path)

    @property
    def is_there(self) -> bool:
        """Whether `read` would find the file."""
        return (self._held is not None and self._held.is_ours()) or os.path.exists(self.path)

    def read(self) -> bytes:
        """Read the held file, or the one at its path if it is not held. Raises the errors of `read_source`."""
        if self._held is not None and self._held.is_ours():
            with contextlib.suppress(OSError):  # a network file system may lose an open file
                return self._pread(self._held.fileno())
        return read_source(self.path)

    def _pread(self, descriptor: int) -> bytes:
        """Read like `read_source`, but without using the file position, which threads share."""
        size = os.fstat(descriptor).st_size
        parts, position = [], 0
        while position <= MOST_BYTES >= size and (part := os.pread(descriptor, 1 << 26, position)):
            parts.append(part)
            position += len(part)
        if max(size, position) > MOST_BYTES:
            raise _too_large(self.path, max(size, position))
        return b"".join(parts)

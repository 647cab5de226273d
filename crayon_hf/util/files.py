"""Files that appear whole or not at all, and files that stay readable when their name is gone.

What is not whole yet has a temporary name, ``.NAME.PID-RANDOM.tmp``, beside what it is to become.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable
from functools import partial
from typing import BinaryIO

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, VocabularyError

MOST_BYTES = 1 << 30
"""What is read whole, a source of a vocabulary or a file beside one, has no more; the largest published tokenizer.json
has some 30 million."""

MOST_OF_CARTRIDGE = 1 << 32
"""The engine maps no larger cartridge."""

_MOST_HELD = 64
"""How many files are held open: a process has few descriptors, and most of them are not ours to take."""

_HELD = (errno.EACCES, errno.EDEADLK) if os.name == "nt" else (errno.EWOULDBLOCK, errno.EAGAIN)
_TEMPORARY = re.compile(r"\.(.+)\.\d+-[0-9a-f]{12}", re.DOTALL)


def temporary_path(path: str, ending: str = ".tmp") -> str:
    """A new temporary name beside `path`."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.getpid()}-{os.urandom(6).hex()}{ending}")


def final_name(name: str, ending: str = ".tmp") -> str | None:
    """What a file of a temporary name was to be called; None for a name that is not a temporary one."""
    match = _TEMPORARY.fullmatch(name[: -len(ending)]) if name.endswith(ending) else None
    return match[1] if match else None


def write_atomic(path: str | os.PathLike[str], data: bytes | list[bytes], private: bool = False) -> None:
    """Write `data`, or its parts, to a new file beside `path`, then rename it over `path`.

    Nobody ever sees half a file, and a process that has the old file mapped keeps the old contents. A symbolic link at
    `path` is followed. `private`, for caches, makes the file readable by its owner only, and replaces a link: in a
    directory of several users it may lead to any file. A loss of power may take the new name of a private file back,
    which costs no more than making it again, and saves the wait for the disk.
    """
    target = os.path.abspath(path) if private else os.path.realpath(path)
    temporary = temporary_path(target)
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o600 if private else 0o666)) as file:
            file.writelines(data if isinstance(data, list) else (data,))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if not private:
        sync_directory(os.path.dirname(target))


def cache_root() -> str | None:
    """The directory of everything that is kept for the user: ``$XDG_CACHE_HOME/xerv/crayon``, else
    ``~/.cache/xerv/crayon``. None for a user without HOME and without an entry in the list of users."""
    base = os.path.expanduser(os.environ.get("XDG_CACHE_HOME", ""))
    if not os.path.isabs(base):  # as XDG specifies
        base = os.path.expanduser(os.path.join("~", ".cache"))
    return os.path.join(base, "xerv", "crayon") if os.path.isabs(base) else None


def remove_files(paths: Iterable[str]) -> None:
    """Remove files that may be there, durably."""
    directories = set()
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            directories.add(os.path.dirname(path) or ".")
    for directory in sorted(directories):
        sync_directory(directory)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process and whoever inherits the descriptor; False when another has the lock.

    True where the file system has no locks.
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
    """Make a rename durable, where the system has a way to."""
    with contextlib.suppress(OSError):
        os.fsync(_core.HeldFile(directory, is_directory=True))


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A file, to read it. A pipe, a socket or a device is an OSError: it could block, or never end."""
    if os.name == "nt":
        return open(path, "rb")
    try:
        return open(path, "rb", opener=_core.open_regular)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path)) from None


def read_source(path: str | os.PathLike[str]) -> bytes:
    """A source of a vocabulary, or a file beside one, whole.

    VocabularyError for more than `MOST_BYTES`, which nobody's memory need hold; OSError as for `open_regular`.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise _too_large(path, size)
        data = file.read(size + 1)
        if len(data) > size:  # it grows
            data += file.read(MOST_BYTES + 1 - len(data))
            if len(data) > MOST_BYTES:
                raise _too_large(path, len(data))
        return data


def read_cartridge(path: str | os.PathLike[str]) -> bytes:
    """A cartridge as bytes. CartridgeError for one that is larger than any; OSError as for `open_regular`."""
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
    """A file that is to be read later, though its name may be gone by then: it is held open.

    Where that cannot be (Windows, too many held already) it is looked for by its name again.
    """

    __slots__ = ("_held", "path")

    def __init__(self, path: str) -> None:
        """A `path` where nothing is yet is no error here, but one of `read`."""
        self.path = path
        self._held: _core.HeldFile | None = None
        if _core.HeldFile.count() < _MOST_HELD:
            with contextlib.suppress(OSError):
                self._held = _core.HeldFile(path)

    @property
    def is_there(self) -> bool:
        """False when `read` would find nothing."""
        return (self._held is not None and self._held.is_ours()) or os.path.exists(self.path)

    def read(self) -> bytes:
        """What the file contains now: the one that was held, whatever has its name since; errors of `read_source`."""
        if self._held is not None and self._held.is_ours():
            with contextlib.suppress(OSError):  # a network may lose a file that is held
                return self._pread(self._held.fileno())
        return read_source(self.path)

    def _pread(self, descriptor: int) -> bytes:
        """As `read_source`, but from no position that threads share."""
        size = os.fstat(descriptor).st_size
        parts, position = [], 0
        while position <= MOST_BYTES >= size and (part := os.pread(descriptor, 1 << 26, position)):
            parts.append(part)
            position += len(part)
        if max(size, position) > MOST_BYTES:
            raise _too_large(self.path, max(size, position))
        return b"".join(parts)

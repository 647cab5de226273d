"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os


def write_atomic(path: str | os.PathLike[str], data: bytes, private: bool = False) -> None:
    """Write `data` to a new file beside `path`, then rename it over `path`.

    Nobody ever sees half a file, and a process that has the old file mapped keeps the old contents. A symbolic link at
    `path` is followed. `private` makes the file readable by its owner only.
    """
    target = os.path.realpath(path)
    directory, name = os.path.split(target)
    temporary = os.path.join(directory, f".{name}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(directory)


def _sync_directory(directory: str) -> None:
    """Make a rename durable, where the system has a way to."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

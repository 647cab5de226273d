"""A lock that the system lets go of when its last holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import time
from types import TracebackType
from typing import TYPE_CHECKING

from crayon_hf.corpora import storage
from crayon_hf.corpora.storage import waiting
from crayon_hf.errors import JobError
from crayon_hf.util.files import try_lock

if TYPE_CHECKING:
    from crayon_hf.corpora.storage.lease import Lease

_PATIENCE = 5.0
"""Seconds. Workers whose job was killed notice it and end within moments; until then they hold its lock."""


def lock(path: str, busy: str) -> Lock | Lease:
    """The lock of a path, or the lease where it is in a store: JobError `busy` when somebody else has it."""
    return storage.of(path).lease(path, busy) or Lock(path, busy)


class Lock:
    """An exclusive lock on a file, which is made for it, its directory too.

    JobError when somebody else holds it, for longer than moments.

    It belongs to the open file: a child that inherits `descriptor` holds it, too. Where a file system has no locks,
    there is none.
    """

    def __init__(self, path: str, busy: str, patience: float | None = None) -> None:
        """`busy` is what an error says."""
        self.path = path
        self.keys = (path,)
        deadline = time.monotonic() + (_PATIENCE if patience is None else patience)
        while True:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
            except FileNotFoundError:  # whoever had it is just tidying up
                continue
            try:
                if try_lock(self.descriptor) and self._is_there():
                    return
            except BaseException:
                os.close(self.descriptor)
                raise
            os.close(self.descriptor)
            if time.monotonic() > deadline:
                raise JobError(busy)
            waiting.pause(0.05)

    def release(self, remove: bool = False) -> None:
        """Let go of it, and `remove` the file."""
        if self.descriptor >= 0:
            if remove:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def _is_there(self) -> bool:
        """False when the file was removed while we waited for it: then it is no lock any more."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

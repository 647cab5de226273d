"""What went wrong with a task, as it goes from a worker to its job, and what the job makes of it."""

from __future__ import annotations

import errno
import signal
from collections.abc import Sequence
from typing import NamedTuple

from crayon_hf.errors import BadRecordError, CrayonError, FormatError, JobError, StoreCredentialsError

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Failure(NamedTuple):
    """Of one task."""

    kind: str
    """``bad-record``, ``full``, ``format``, ``credentials``, ``died`` or ``error``."""
    message: str

    @property
    def stops_all(self) -> bool:
        """Whether the other tasks are given up, too: because that was asked for, or since they would fail likewise."""
        return self.kind in ("bad-record", "full", "format", "credentials")


def failure_of(error: BaseException) -> Failure:
    """An error of `run_shard`."""
    if isinstance(error, BadRecordError):
        return Failure("bad-record", str(error))
    if isinstance(error, FormatError):
        return Failure("format", str(error))
    if isinstance(error, StoreCredentialsError):
        return Failure("credentials", str(error))
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror is not None
        message = f"{error.filename}: {error.strerror}" if named else str(error)
        return Failure("full" if error.errno in _FULL else "error", message)
    known = isinstance(error, (CrayonError, ValueError))
    return Failure("error", str(error) if known and str(error) else f"{type(error).__name__}: {error}")


def interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The Ctrl-C that an error took the place of: where one comes as a waiting thread takes its lock again, Python's
    `threading` says that it releases a lock that nobody has."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__context__
    return seen


def death(task: str, code: int) -> Failure:
    """A worker that ended with a task in its hands; `code` as `subprocess` has it."""
    if code >= 0:
        return Failure("died", f"task {task}: its worker ended with exit code {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (out of memory? fewer --workers, or a smaller --batch-bytes)" if name == "SIGKILL" else ""
    return Failure("died", f"task {task}: its worker was killed by {name}{hint}")


def raise_for(failures: Sequence[Failure], undone: int, tasks: int) -> None:
    """BadRecordError or StoreCredentialsError where that is all, else JobError with the reasons; nothing without
    failures."""
    if not failures:
        return
    reasons = list(dict.fromkeys(failure.message for failure in failures))
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    what = "; ".join(reasons[:3]) + more
    if all(failure.kind == "bad-record" for failure in failures):
        raise BadRecordError(f"{what} (--bad-records skip or replace, bad_records=, goes on; what is done stays)")
    if all(failure.kind == "credentials" for failure in failures):
        raise StoreCredentialsError(what)
    raise JobError(
        f"{undone} of {tasks} tasks not done: {what}: what is done stays, the same command goes on from there"
    )

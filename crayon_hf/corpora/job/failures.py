"""Failures of tasks, which workers send to their job, and the error that the job raises for them."""

from __future__ import annotations

import errno
import signal
from collections.abc import Sequence
from typing import NamedTuple

from crayon_hf.errors import BadRecordError, CorpusError, CrayonError, FormatError, JobError, StoreCredentialsError
from crayon_hf.util.wording import error_line, plural

TO_CONTINUE = "run it again to continue; finished work is kept"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_KINDS = {
    "bad-record": BadRecordError,
    "format": FormatError,
    "input": CorpusError,
    "credentials": StoreCredentialsError,
}
_PASSING = ("full", "died", "error")
"""Failures that may pass when the command is run again. An unreadable input, or a missing column, fails again."""


class Failure(NamedTuple):
    """The failure of one task."""

    kind: str
    """``bad-record``, ``full``, ``format``, ``credentials``, ``input``, ``died`` or ``error``."""
    message: str

    @property
    def stops_all(self) -> bool:
        """Whether the other tasks are stopped, because the user asked for it or they would fail likewise."""
        return self.kind in ("bad-record", "full", "format", "credentials")


def failure_of(error: BaseException) -> Failure:
    """The `Failure` of a task that raised `error`."""
    for kind, known in _KINDS.items():
        if isinstance(error, known):
            return Failure(kind, str(error))
    if isinstance(error, OSError):
        return Failure("full" if error.errno in _FULL else "error", error_line(error))
    is_clear = isinstance(error, (CrayonError, ValueError)) and str(error)
    return Failure("error", str(error) if is_clear else f"{type(error).__name__}: {error}")


def death(task: str, code: int) -> Failure:
    """The failure of a task whose worker died with `code`, an exit status of `subprocess`."""
    if code >= 0:
        return Failure("died", f"task {task}: its worker ended with exit code {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (out of memory? fewer --workers, or a smaller --batch-bytes)" if name == "SIGKILL" else ""
    return Failure("died", f"task {task}: its worker was killed by {name}{hint}")


def raise_for(failures: Sequence[Failure], undone: int, tasks: int) -> None:
    """Raise an error for `failures`, if any: BadRecordError or StoreCredentialsError if all are of that kind, else
    JobError with the reasons."""
    if not failures:
        return
    reasons = list(dict.fromkeys(failure.message for failure in failures))
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    what = "; ".join(reasons[:3]) + more
    if all(failure.kind == "bad-record" for failure in failures):
        column = "; --column (column=) says which is the text" if "; it has " in what else ""
        raise BadRecordError(
            f"{what} (--bad-records (bad_records=) skip leaves bad records out, replace keeps their places{column})"
        )
    if all(failure.kind == "credentials" for failure in failures):
        raise StoreCredentialsError(what)
    message = f"{undone} of {plural(tasks, 'task')} not done: {what}" if tasks > 1 else what
    if all(failure.kind in _PASSING for failure in failures):
        message += f": {TO_CONTINUE}"
    elif undone < tasks:
        message += f": once the input is repaired, {TO_CONTINUE}"
    raise JobError(message)

"""The progress of a job in one line on standard error: for terminals, notebooks and logs."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TextIO


def is_notebook() -> bool:
    """Whether this process shows its output in a notebook, where a line can be written over, though no terminal is."""
    shell = sys.modules.get("IPython")
    try:
        return shell is not None and "ipykernel" in sys.modules and shell.get_ipython() is not None
    except AttributeError:
        return False


def is_watched(stream: TextIO | None) -> bool:
    """Whether somebody sees what is written there while it is written."""
    return stream is not None and (stream.isatty() or is_notebook())


def duration(seconds: float) -> str:
    """As people read it: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_left(begun: float, done: int, total: int) -> str:
    """``, 0:12 left`` of a job that began at `begun` (``time.monotonic``), if it goes on so; empty where nobody knows.

    >>> time_left(time.monotonic() - 10, 1, 2)
    ', 0:10 left'
    """
    spent = time.monotonic() - begun
    return f", {duration(spent * (total - done) / done)} left" if 0 < done < total and spent >= 0.5 else ""


class FilesLine:
    """How far a command is in several files, on a line that somebody watches, once it has taken a second."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._line, self._begun = Line(), time.monotonic()
        self._before, self._all = 0, sum(sizes)

    def told(self, name: str, here: int) -> None:
        """So many bytes of this file are done."""
        if self._line.is_live and self._line.is_due() and time.monotonic() - self._begun > 1:
            done = self._before + here
            self._line.write(f"{name}: {done:,} of {self._all:,} bytes{time_left(self._begun, done, self._all)}")

    @contextlib.contextmanager
    def file(self, size: int) -> Iterator[None]:
        """While one of them is read; the line is gone behind it."""
        try:
            yield
        finally:
            self._line.clear()
        self._before += size


class Line:
    """A line that is written over where somebody watches, ten times a second; elsewhere a new one now and then."""

    def __init__(self, stream: TextIO | None = None, every: float = 2.0) -> None:
        """`every` is how many seconds pass between two lines of a log."""
        self._stream = sys.stderr if stream is None else stream
        self.is_live = is_watched(self._stream)
        self._every = 0.1 if self.is_live else every
        self._shown = float("-inf")
        self._width = 0

    def is_due(self) -> bool:
        """Whether it is time to `write` again."""
        return time.monotonic() - self._shown >= self._every

    def wait(self) -> None:
        """Write nothing for a while."""
        self._shown = time.monotonic()

    def write(self, text: str) -> None:
        """Show this instead of what was shown."""
        self._shown = time.monotonic()
        if self.is_live:
            self._stream.write(f"\r{text:<{self._width}}")
            self._width = len(text)
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        """Leave the line as it is."""
        self._close("\n")

    def clear(self) -> None:
        """Leave nothing of it."""
        self._close(f"\r{'':<{self._width}}\r")

    def _close(self, end: str) -> None:
        if self.is_live and self._width:
            self._stream.write(end)
            self._stream.flush()
        self._width = 0

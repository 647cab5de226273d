"""The progress of a job on standard error, by tqdm: for terminals, notebooks and logs."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import Any, TextIO


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


class _Log:
    """A stream that nobody watches: what tqdm writes over elsewhere is a line of its own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.flush = stream, stream.flush

    def write(self, text: str) -> None:
        """A line, if there is anything on it."""
        if line := text.strip():
            self._stream.write(f"{line}\n")


def tqdm_bar(stream: TextIO | None = None, every: float = 2.0, **options: Any) -> Any:
    """A bar of tqdm, drawn ten times a second where somebody watches; in a log a line after so many seconds.

    It needs no thread and no lock between processes: those of a job may be forked beside it.
    """
    from tqdm.auto import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0

    Bar.set_lock(threading.RLock())
    to = sys.stderr if stream is None else stream
    if is_watched(to):
        return Bar(file=to, position=0, dynamic_ncols=True, **options)
    return Bar(file=_Log(to), position=0, mininterval=every, maxinterval=every, ascii=True, **options)


class Bar:
    """A bar for each stage of a job. Called with the stage, how much is done, and how much there is (0: unknown)."""

    def __init__(self, leave: bool = True) -> None:
        """Finished bars stay where they are unless `leave` is false."""
        self._leave, self._stage = leave, ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._bar is None or stage != self._stage:
            if self._bar is not None and self._bar.total:  # a stage ends where the next one begins
                self._bar.update(self._bar.total - self._bar.n)
            self.end()
            self._stage, self._bar = stage, tqdm_bar(desc=stage, total=total or None, leave=self._leave, unit="")
        self._bar.update(done - self._bar.n)

    def end(self) -> None:
        """No more is said."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


class FilesBar:
    """How far a command is in several files, where somebody watches, once it has taken a second."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._begun, self._before, self._all = time.monotonic(), 0, sum(sizes)
        self._bar: Any = None

    def told(self, name: str, here: int) -> None:
        """So many bytes of this file are done."""
        if self._bar is None:
            if time.monotonic() - self._begun < 1 or not is_watched(sys.stderr):
                return
            self._bar = tqdm_bar(total=self._all, unit="B", unit_scale=True, leave=False)
        self._bar.set_description_str(name, refresh=False)
        self._bar.update(self._before + here - self._bar.n)

    @contextlib.contextmanager
    def file(self, size: int) -> Iterator[None]:
        """While one of them is read; the line is empty behind it."""
        try:
            yield
        finally:
            if self._bar is not None:
                self._bar.clear()
        self._before += size


class Progress:
    """What a job does, in one line where somebody watches; in a log a line every ten seconds."""

    SECONDS = 10.0

    def __init__(self, stream: TextIO | None = None, leave: bool = False) -> None:
        """The last line stays if `leave` is true."""
        self.is_live = is_watched(sys.stderr if stream is None else stream)
        delay = 0 if self.is_live else self.SECONDS
        self._bar = tqdm_bar(stream, self.SECONDS, bar_format="{desc}", delay=delay, leave=leave)

    def __call__(self, message: str) -> None:
        """Show this, when it is time."""
        room = get_terminal_size().columns - 1 if self.is_live else None
        self._bar.set_description_str(message[:room], refresh=False)
        self._bar.update(0)

    def end(self) -> None:
        """No more is said."""
        self._bar.close()

"""Progress of a job on standard error, with tqdm: for terminals, notebooks and logs."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import Any, TextIO

from .page.words import visible


def is_notebook() -> bool:
    """Whether output appears in a notebook, where a line can be overwritten without a terminal."""
    shell = sys.modules.get("IPython")
    try:
        return shell is not None and "ipykernel" in sys.modules and shell.get_ipython() is not None
    except AttributeError:
        return False


def is_watched(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal or a notebook, not a log."""
    return stream is not None and (stream.isatty() or is_notebook())


def duration(seconds: float) -> str:
    """Format seconds: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_left(begun: float, done: int, total: int) -> str:
    """Return ``, 0:12 left`` for a job that began at `begun` (``time.monotonic``), or "" if it is too early to tell.

    >>> time_left(time.monotonic() - 10, 1, 2)
    ', 0:10 left'
    """
    spent = time.monotonic() - begun
    return f", {duration(spent * (total - done) / done)} left" if 0 < done < total and spent >= 0.5 else ""


class _Log:
    """A stream for logs: tqdm's updates become separate lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.flush = stream, stream.flush

    def write(self, text: str) -> None:
        """Write a line unless it is blank."""
        if line := text.strip():
            self._stream.write(f"{line}\n")


def tqdm_bar(stream: TextIO | None = None, every: float = 2.0, **options: Any) -> Any:
    """Return a tqdm bar that is drawn ten times a second on a terminal, and as a line every `every` seconds in a log.

    The bar uses no thread and no lock between processes, because jobs fork.
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
    """A bar for each stage of a job. Call it with the stage, the amount done, and the total (0: unknown)."""

    def __init__(self, leave: bool = True) -> None:
        """Finished bars stay visible unless `leave` is false."""
        self._leave, self._stage = leave, ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._bar is None or stage != self._stage:
            if self._bar is not None and self._bar.total:  # the new stage completes the one before
                self._bar.update(self._bar.total - self._bar.n)
            self.end()
            self._stage, self._bar = stage, tqdm_bar(desc=stage, total=total or None, leave=self._leave, unit="")
        self._bar.update(done - self._bar.n)

    def end(self) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


class FilesBar:
    """The progress of a command through several files, shown on terminals only, and after one second."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._begun, self._before, self._all = time.monotonic(), 0, sum(sizes)
        self._bar: Any = None
        self._lock = threading.Lock()

    def __call__(self, name: str, done: int, total: int) -> None:
        """Report that `done` of the `total` bytes of all files together are done. `name` is the current file."""
        self._all = total
        self.told(name, done)

    def add(self, name: str, done: int) -> None:
        """Report that `done` more bytes of a file are encoded. Several threads may call this method."""
        with self._lock:
            self._before += done
            self.told(name, 0)

    def end(self) -> None:
        """Remove the line."""
        with self._lock:
            if self._bar is not None:
                self._bar.close()

    def told(self, name: str, here: int) -> None:
        """Show that the first `here` bytes of the file are done."""
        if self._bar is None:
            if time.monotonic() - self._begun < 1 or not is_watched(sys.stderr):
                return
            self._bar = tqdm_bar(total=self._all, unit="B", unit_scale=True, leave=False)
        self._bar.set_description_str(visible(name), refresh=False)
        self._bar.update(self._before + here - self._bar.n)

    @contextlib.contextmanager
    def file(self, size: int) -> Iterator[None]:
        """Context manager for the work on one file of `size` bytes. At its end, the line is cleared."""
        try:
            yield
        finally:
            if self._bar is not None:
                self._bar.clear()
        self._before += size


class Progress:
    """Shows the current state of a job: in one line on a terminal, or in a line every ten seconds in a log."""

    SECONDS = 10.0

    def __init__(self, stream: TextIO | None = None, leave: bool = False) -> None:
        """The last line stays visible if `leave` is true."""
        self.is_live = is_watched(sys.stderr if stream is None else stream)
        delay = 0 if self.is_live else self.SECONDS
        self._bar = tqdm_bar(stream, self.SECONDS, bar_format="{desc}", delay=delay, leave=leave)

    def __call__(self, message: str) -> None:
        """Show a message at the next update."""
        room = get_terminal_size().columns - 1 if self.is_live else None
        self._bar.set_description_str(message[:room], refresh=False)
        self._bar.update(0)

    def end(self) -> None:
        """Close the line."""
        self._bar.close()

"""How far a job is: one line on standard error, for whoever watches a terminal, and now and then for a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TextIO

from crayon_hf.corpora.job.state import Counts

_WIDTH = 24


class JobProgress(NamedTuple):
    """A moment of a job."""

    counts: Counts
    """All that is done, by earlier runs, too."""
    before: Counts
    """What earlier runs did."""
    input_bytes: int
    """Of all inputs, as stored; 0: nobody knows."""
    seconds: float
    """Since this run began."""

    @property
    def megabytes_per_second(self) -> float:
        """Of text, by this run."""
        return (self.counts.text_bytes - self.before.text_bytes) / 1e6 / self.seconds if self.seconds else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds that are left, if it goes on as so far; None: nobody knows."""
        read = self.counts.input_bytes - self.before.input_bytes
        if read <= 0 or not self.input_bytes:
            return None
        return max(0, self.input_bytes - self.counts.input_bytes) * self.seconds / read

    def line(self, width: int = _WIDTH) -> str:
        """For people."""
        counts, eta = self.counts, self.eta
        share = min(1.0, counts.input_bytes / self.input_bytes) if self.input_bytes else 0.0
        bar = f"[{'#' * int(share * width):<{width}}] " if width else ""
        left = "" if eta is None else f", {_time(eta)} left"
        return (
            f"{bar}{100 * share:5.1f} %, {self.megabytes_per_second:.1f} MB/s, {counts.documents:,} documents, "
            f"{counts.tokens:,} tokens{left}"
        )


Report = Callable[[JobProgress], None]


class Bar:
    """A line that is written over on a terminal, ten times a second; elsewhere a line every ten seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._every = 0.1 if self._is_terminal else 10.0
        self._shown = float("-inf") if self._is_terminal else time.monotonic()
        self._open = False

    def __call__(self, progress: JobProgress) -> None:
        now = time.monotonic()
        if now - self._shown >= self._every:
            self._shown = now
            self._write(progress)

    def end(self) -> None:
        """Leave the line."""
        if self._open:
            self._stream.write("\n")
            self._stream.flush()
            self._open = False

    def _write(self, progress: JobProgress) -> None:
        if self._is_terminal:
            self._stream.write(f"\r\x1b[K{progress.line()}")
            self._open = True
        else:
            self._stream.write(f"{progress.line(0).strip()}\n")
        self._stream.flush()


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""How far a job is: one line on standard error, for whoever watches a terminal, and now and then for a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TextIO

from crayon_hf.corpora.job.state import Counts
from crayon_hf.util.progress import Progress, duration
from crayon_hf.util.wording import plural

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
        left = "" if eta is None else f", {duration(eta)} left"
        return (
            f"{bar}{100 * share:5.1f} %, {self.megabytes_per_second:.1f} MB/s, {plural(counts.documents, 'document')}, "
            f"{plural(counts.tokens, 'token')}{left}"
        )


Report = Callable[[JobProgress], None]


class Bar:
    """A line that is written over on a terminal or in a notebook; elsewhere a line every ten seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._shown = Progress(stream, leave=True)

    def __call__(self, progress: JobProgress) -> None:
        self._shown(progress.line() if self._shown.is_live else progress.line(0).strip())

    def end(self) -> None:
        """Leave the line."""
        self._shown.end()

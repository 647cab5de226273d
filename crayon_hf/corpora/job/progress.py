"""The progress of a job: one updated line on a terminal, occasional lines in a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TextIO

from crayon_hf.corpora.job.state import Counts
from crayon_hf.util.progress import Progress, duration
from crayon_hf.util.wording import plural

_WIDTH = 24


class JobProgress(NamedTuple):
    """The state of a job at one moment."""

    counts: Counts
    """All finished work, including that of earlier runs."""
    before: Counts
    """The work of earlier runs."""
    input_bytes: int
    """Stored bytes of all inputs; 0 if not known."""
    seconds: float
    """Seconds since this run began."""

    @property
    def megabytes_per_second(self) -> float:
        """Megabytes of text a second in this run."""
        return (self.counts.text_bytes - self.before.text_bytes) / 1e6 / self.seconds if self.seconds else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds left at the average speed of this run, or None if not known."""
        read = self.counts.input_bytes - self.before.input_bytes
        if read <= 0 or not self.input_bytes:
            return None
        return max(0, self.input_bytes - self.counts.input_bytes) * self.seconds / read

    def line(self, width: int = _WIDTH) -> str:
        """The line to show, with a bar of `width` characters."""
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
    """Shows progress: a line that is overwritten on a terminal or in a notebook, elsewhere a line every ten seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._shown = Progress(stream, leave=True)

    def __call__(self, progress: JobProgress) -> None:
        self._shown(progress.line() if self._shown.is_live else progress.line(0).strip())

    def end(self) -> None:
        """End the display. Its last line stays."""
        self._shown.end()

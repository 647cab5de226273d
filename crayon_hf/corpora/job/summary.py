"""The summary of a job."""

from __future__ import annotations

from typing import Any, NamedTuple

from crayon_hf.corpora.job.state import Counts
from crayon_hf.util.wording import plural

SCHEMA = "crayon-hf/corpus/1"
"""The schema of the manifest."""


class Sequences(NamedTuple):
    """Counts of packed sequences."""

    sequences: int
    tokens: int
    """All tokens, including padding."""
    padding: int
    """Padding tokens."""
    dropped: int
    """Tokens of documents that no sequence has."""


def sequences_of(shards: list[dict[str, Any]], tokens: int, length: int | None) -> Sequences | None:
    """Return the counts of sequences of all shards together, or None without packing.

    `tokens` is the number of tokens of all documents, `length` that of a sequence.
    """
    if length is None:
        return None
    sequences, written, padding = (
        sum(shard[name] for shard in shards) for name in ("sequences", "tokens", "padding")
    )  # fmt: skip
    return Sequences(sequences, written, padding, tokens - (written - padding))


class Summary(NamedTuple):
    """The result of a job."""

    output: str
    format: str
    counts: Counts
    tasks: int
    shards: int
    output_bytes: int
    seconds: float
    """The duration of this run."""
    tokenized: Counts
    """The work of this run, without that of earlier runs."""
    already_done: bool = False
    sequences: Sequences | None = None
    """With packing, the counts of sequences."""
    held_out: Summary | None = None
    """The summary of the directory of held-out documents."""

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text a token, or None without tokens."""
        return self.counts.text_bytes / self.counts.tokens if self.counts.tokens else None

    @property
    def megabytes_per_second(self) -> float | None:
        """Megabytes of text a second in this run, or None if it had nothing to do."""
        return self.tokenized.text_bytes / 1e6 / self.seconds if self.tokenized.text_bytes and self.seconds else None

    def as_json(self) -> dict[str, Any]:
        """The summary as values for `json.dumps`."""
        ratio, speed = self.bytes_per_token, self.megabytes_per_second
        return {
            "output": self.output,
            "format": self.format,
            **self.counts._asdict(),
            **({} if self.sequences is None else {"packed": self.sequences._asdict()}),
            "bytes_per_token": None if ratio is None else round(ratio, 4),
            "tasks": self.tasks,
            "shards": self.shards,
            "output_bytes": self.output_bytes,
            "seconds": round(self.seconds, 3),
            "megabytes_per_second": None if speed is None else round(speed, 2),
            "tokenized": self.tokenized._asdict(),
            "already_done": self.already_done,
            **({} if self.held_out is None else {"held_out_job": self.held_out.as_json()}),
        }

    def lines(self) -> list[str]:
        """The summary as lines for a terminal."""
        counts, ratio, speed = self.counts, self.bytes_per_token, self.megabytes_per_second
        lines = [
            f"{self.output}: {plural(self.shards, 'shard')} ({self.format}), {self.output_bytes / 1e6:,.1f} MB"
            + (", done already" if self.already_done else ""),
            f"documents: {counts.documents:,}",
            f"tokens: {counts.tokens:,}" + ("" if ratio is None else f" ({ratio:.3f} bytes per token)"),
            f"text: {counts.text_bytes / 1e6:,.1f} MB, of {counts.input_bytes / 1e6:,.1f} MB of input",
        ]
        if self.sequences is not None:
            rows, written, padding, dropped = self.sequences
            more = [f"{padding / written:.2%} padding"] if padding else []
            more += [f"{plural(dropped, 'token')} dropped"] if dropped else []
            lines.append(f"sequences: {rows:,}, {plural(written, 'token')}" + "".join(f", {each}" for each in more))
        if counts.duplicates:
            lines.append(f"duplicates left out: {counts.duplicates:,}")
        if counts.not_chosen:
            lines.append(f"not chosen from the mixture: {counts.not_chosen:,}")
        if self.held_out is not None:
            aside = self.held_out.counts
            of_all = f"{plural(aside.documents, 'document')}, {plural(aside.tokens, 'token')}"
            lines.append(f"held out: {of_all} in {self.held_out.output}")
        if counts.bad_records:
            lines.append(f"bad records: {counts.bad_records:,}, listed in bad-records.jsonl")
        if not self.already_done:
            before = counts.text_bytes - self.tokenized.text_bytes
            resumed = f", {before / 1e6:,.1f} MB were done before" if before else ""
            lines.append(f"time: {self.seconds:.1f} s" + ("" if speed is None else f", {speed:.1f} MB/s") + resumed)
        return lines

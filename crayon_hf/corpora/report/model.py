"""The report of a corpus, as values, as JSON and as lines for a terminal."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from crayon_hf.util.page.words import count, visible
from crayon_hf.util.wording import plural

SCHEMA = "crayon-hf/corpus-report/1"


@dataclass(frozen=True)
class Bin:
    """A bin of the histogram of lengths, from `least` to `most` tokens."""

    least: int
    most: int
    count: int


@dataclass(frozen=True)
class Lengths:
    """Statistics of the tokens of documents, of their pieces in sequences, or of whole sequences."""

    of: str
    """``documents``, ``pieces`` (parts of documents in sequences, and paddings) or ``sequences``."""
    count: int
    least: int
    median: int
    mean: float
    percentile_90: int
    percentile_99: int
    most: int
    histogram: tuple[Bin, ...]
    """Bins by powers of two (0, 1, 2 to 3, 4 to 7, ...), from the first to the last that is not empty."""


@dataclass(frozen=True)
class TokenCount:
    """A token and its count."""

    id: int
    text: str | None
    """The decoded text of a byte-level token, with invalid UTF-8 as ``\\xNN``, or another token as the vocabulary
    spells it. None without the tokenizer."""
    count: int


@dataclass(frozen=True)
class CorpusReport:
    """The report of a corpus, made by `measuring.make_report`."""

    directory: str
    format: str
    tokenizer: str
    digest: str
    """SHA-256 of the tokenizer, from the manifest."""
    vocabulary: int
    """The number of the tokenizer's ids, or, without the tokenizer, of the ids up to the largest one used."""
    counts: dict[str, int]
    """The counts of the manifest: documents, tokens, text_bytes, bad_records, duplicates, held_out, ..."""
    sequences: dict[str, int] | None
    """With packing: sequence_length, sequences, tokens, padding, dropped."""
    shards: int
    output_bytes: int
    lengths: Lengths | None
    """The lengths of documents, or None without documents."""
    scripts: dict[str, int] | None
    """Characters of the decoded text by script, or None without the tokenizer."""
    frequent: tuple[TokenCount, ...]
    never_used: tuple[int, ...]
    unused_texts: tuple[TokenCount, ...]
    """The first of `never_used`, with their texts."""
    bad_reasons: dict[str, int]
    """The most frequent reasons for bad records, with their counts."""
    held_out: dict[str, int] | None
    """The counts of the held-out documents."""

    @property
    def tokens(self) -> int:
        """Tokens in the files, including padding."""
        return self.counts["tokens"] if self.sequences is None else self.sequences["tokens"]

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text a token of the documents."""
        return self.counts["text_bytes"] / self.counts["tokens"] if self.counts["tokens"] else None

    def to_json(self) -> str:
        """The report as one JSON object, with a newline at the end."""
        ratio = self.bytes_per_token
        fields = {**asdict(self), "bytes_per_token": None if ratio is None else round(ratio, 4)}
        return json.dumps({"schema": SCHEMA, **fields}, ensure_ascii=False, indent=1) + "\n"

    def lines(self, most: int = 10) -> list[str]:
        """The report as lines for a terminal, with at most `most` rows of a kind."""
        counts, ratio = self.counts, self.bytes_per_token
        lines = [
            f"{self.directory}: {plural(self.shards, 'shard')} ({self.format}), {self.output_bytes / 1e6:,.1f} MB",
            f"tokenizer: {visible(self.tokenizer) or 'without a name'}, {plural(self.vocabulary, 'id')}",
            f"documents: {count(counts['documents'])}",
            f"tokens: {count(counts['tokens'])}" + ("" if ratio is None else f" ({ratio:.3f} bytes per token)"),
            f"text: {counts['text_bytes'] / 1e6:,.1f} MB, of {counts['input_bytes'] / 1e6:,.1f} MB of input",
        ]
        if self.sequences is not None:
            of = self.sequences
            lines.append(
                f"sequences: {count(of['sequences'])} of {count(of['sequence_length'])} tokens, "
                f"{share(of['padding'], of['tokens'])} padding, {plural(of['dropped'], 'token')} dropped"
            )
        lines += [f"{said}: {count(counts[name])}" for name, said in _LEFT_OUT.items() if counts.get(name)]
        lines += [f"  {count(number)}: {visible(reason)}" for reason, number in list(self.bad_reasons.items())[:most]]
        if self.lengths is not None:
            of_all = self.lengths
            lines += [
                "",
                f"tokens of {of_all.of}: median {count(of_all.median)}, mean {of_all.mean:,.1f}, from "
                f"{count(of_all.least)} to {count(of_all.most)}; 90% have at most {count(of_all.percentile_90)}, "
                f"99% {count(of_all.percentile_99)}",
            ]
            top = max(each.count for each in of_all.histogram)
            for each in of_all.histogram:
                bar, least, last = "#" * round(40 * each.count / top), count(each.least), count(each.most)
                of_bin = least if least == last else f"{least} \u2013 {last}"
                lines.append(f"  {of_bin:>21} {count(each.count):>13}  {bar}".rstrip())
        if self.scripts:
            total = sum(self.scripts.values())
            lines += ["", f"characters by script: {count(total)}"]
            ordered = list(self.scripts.items())
            lines += [
                f"  {share(number, total):>7}  {_SCRIPTS.get(name, name.replace('_', ' '))}"
                for name, number in ordered[:most]
            ]
            if rest := sum(number for _, number in ordered[most:]):
                lines.append(f"  {share(rest, total):>7}  {plural(len(ordered) - most, 'other script')}")
        if self.frequent:
            lines += ["", "most frequent tokens:"]
            lines += [
                f"  {share(each.count, self.tokens):>7}  {each.id:>7}  {shown(each)}" for each in self.frequent[:most]
            ]
        unused = ", ".join(f"{each.id} {shown(each)}" for each in self.unused_texts[:most])
        lines += ["", f"never used: {plural(len(self.never_used), 'id')} of {count(self.vocabulary)}"]
        return [*lines, f"  {unused}{', ...' if len(self.never_used) > most else ''}"] if unused else lines


_LEFT_OUT = {
    "bad_records": "bad records",
    "duplicates": "duplicates left out",
    "held_out": "held out",
    "not_chosen": "not chosen from the mixture",
}
"""The manifest's counts of records and documents that the token files lack, and titles for these counts."""
_SCRIPTS = {"Common": "digits, punctuation, spaces (Common)", "Inherited": "marks (Inherited)"}
"""Readable names of scripts."""


def share(part: int, whole: int) -> str:
    """A percentage with two decimals."""
    return "<0.01%" if 0 < part < whole / 20_000 else f"{part / whole:.2%}" if whole else "0.00%"


def shown(token: TokenCount) -> str:
    """Return the text of a token in quotes, or "" if the text is not known."""
    return "" if token.text is None else f"\u201c{visible(token.text)}\u201d"

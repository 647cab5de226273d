"""The result of a comparison: values, JSON, and tables for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from crayon_hf.display.cells import width_of
from crayon_hf.util.page.words import count, visible
from crayon_hf.util.wording import plural

SCHEMA = "crayon-hf/compare/1"


@dataclass(frozen=True)
class Figures:
    """The figures of one tokenizer on one group of text.

    >>> figures = crayon_hf.compare(["lite"], crayon_hf.__file__).total.figures["lite"]
    >>> figures.bytes_per_token > 1, figures.unknown_tokens
    (True, 0)
    """

    tokens: int
    """The number of tokens."""
    byte_tokens: int
    """Tokens that are one byte of a multi-byte character."""
    unknown_tokens: int
    """Occurrences of the unknown token, which replaces text that the vocabulary lacks."""
    bytes_per_token: float | None
    """Bytes of UTF-8 per token, or None without tokens."""
    characters_per_token: float | None
    """Code points per token, or None without tokens."""
    tokens_per_word: float | None
    """Tokens per word, or None without words."""
    byte_token_share: float | None
    """`byte_tokens` divided by `tokens`, or None without tokens."""


@dataclass(frozen=True)
class Group:
    """Text that is counted together: a file, a kind of text, a script, or all text.

    >>> [group.name for group in crayon_hf.compare(["lite"], crayon_hf.__file__).kinds]
    ['code']
    """

    name: str
    """The file, kind or script; "all" for all text."""
    bytes: int
    """Bytes of UTF-8."""
    characters: int
    """Code points."""
    words: int
    """Words, split at white space as by `str.split`."""
    figures: dict[str, Figures]
    """The figures of each tokenizer, by its name."""


@dataclass(frozen=True)
class Measured:
    """One tokenizer on all text: its vocabulary and its speed.

    >>> [(each.name, each.vocabulary) for each in crayon_hf.compare(["lite"], crayon_hf.__file__).tokenizers]
    [('lite', 50000)]
    """

    name: str
    """The name given to `compare`."""
    vocabulary: int
    """The number of ids, including added tokens."""
    never_used: int
    """The number of ids that no token of the text has."""
    never_used_share: float
    """`never_used` divided by `vocabulary`."""
    seconds: float
    """Wall time to encode all text once, on one thread."""
    processor_seconds: float
    """CPU time of the same work."""
    megabytes_per_second: float | None
    """Speed by wall time; a megabyte is 1,000,000 bytes of UTF-8. None without text."""
    megabytes_per_processor_second: float | None
    """Speed by CPU time, or None without text."""


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`. Special tokens around texts are not counted.

    >>> found = crayon_hf.compare(["lite", "standard"], crayon_hf.__file__)
    >>> [each.name for each in found.tokenizers], len(found.files)
    (['lite', 'standard'], 1)
    """

    tokenizers: tuple[Measured, ...]
    """The tokenizers, in the order given to `compare`."""
    total: Group
    """All text."""
    kinds: tuple[Group, ...]
    """All text by kind, inferred from names of files. The largest kind comes first."""
    scripts: tuple[Group, ...]
    """All text by Unicode script, the largest first. A character that scripts share (a space, a digit, a comma) counts
    with the letter before it. A token or a word counts with its last character."""
    files: tuple[Group, ...]
    """The files, in the order in which they were read."""
    passed_over: tuple[str, ...]
    """Files that were found in directories, and not counted because they are not UTF-8 text."""
    machine: str
    """The CPU on which the speeds were measured."""

    def to_json(self) -> str:
        """Return one JSON object, with a newline at the end. Shares and rates are not rounded."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"

    def lines(self, most: int = 20) -> list[str]:
        """Return the lines of tables for a terminal, with at most `most` rows for each grouping."""
        names = [each.name for each in self.tokenizers]
        has_unknown = any(self.total.figures[name].unknown_tokens for name in names)
        heads = ["tokenizer", "tokens", "bytes/token", "characters/token", "tokens/word", "single bytes"]
        heads += ["unknown"] * has_unknown + ["never used", "MB/s", "MB/s of CPU time"]
        rows = []
        for each in self.tokenizers:
            of = self.total.figures[each.name]
            row = [visible(each.name), count(of.tokens), rate(of.bytes_per_token), rate(of.characters_per_token)]
            row += [rate(of.tokens_per_word), share(of.byte_token_share)]
            row += [count(of.unknown_tokens)] * has_unknown
            row += [share(each.never_used_share), rate(each.megabytes_per_second, 1)]
            rows.append([*row, rate(each.megabytes_per_processor_second, 1)])
        lines = [amount(self.total, len(self.files)), "", *aligned(heads, rows)]
        for title, groups in (("kind", self.kinds), ("script", self.scripts), ("file", self.files)):
            largest = sorted((group for group in groups if group.bytes), key=lambda group: -group.bytes)
            if len(largest) < 2:
                continue
            heads = [f"bytes/token by {title}", "bytes", *map(visible, names)]
            rows = [
                [
                    script(group.name) if title == "script" else visible(group.name),
                    count(group.bytes),
                    *(rate(group.figures[name].bytes_per_token) for name in names),
                ]
                for group in largest[:most]
            ]
            lines += ["", *aligned(heads, rows)]
            if len(largest) > most:
                lines.append(f"and {plural(len(largest) - most, f'more {title}')}: --json has all")
        return lines


def amount(total: Group, files: int) -> str:
    """Return the amount of text in words."""
    return (
        f"{plural(files, 'file')}, {plural(total.bytes, 'byte')}, {plural(total.characters, 'character')}, "
        f"{plural(total.words, 'word')}"
    )


def script(name: str) -> str:
    """Return the name of a script as tables show it."""
    return "no letter before" if name == "Common" else name.replace("_", " ")


def rate(value: float | None, digits: int = 3) -> str:
    """Format a rate with `digits` decimals, or None as a dash."""
    return "\u2013" if value is None else f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """Format a share in percent, or None as a dash."""
    return "\u2013" if value is None else "<0.01%" if 0 < value < 0.00005 else f"{value:.2%}"


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table. The first column is left-aligned, the others are right-aligned."""
    widths = [max(map(width_of, column)) for column in zip(heads, *rows, strict=True)]

    def padded(cell: str, place: int) -> str:
        blanks = " " * (widths[place] - width_of(cell))
        return blanks + cell if place else cell + blanks

    return ["  ".join(padded(cell, place) for place, cell in enumerate(row)).rstrip() for row in (heads, *rows)]

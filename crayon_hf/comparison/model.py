"""The result of a comparison: values, JSON, and lines for a terminal."""

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
    """One tokenizer on one group of text."""

    tokens: int
    byte_tokens: int
    """Tokens that are one byte of a longer character."""
    unknown_tokens: int
    """Tokens that say that the vocabulary has none for a text."""
    bytes_per_token: float | None
    """None without tokens, as `characters_per_token`."""
    characters_per_token: float | None
    tokens_per_word: float | None
    """None without words."""
    byte_token_share: float | None
    """Of the tokens."""


@dataclass(frozen=True)
class Group:
    """Text that is counted together: a file, a kind, a script, or all of it."""

    name: str
    bytes: int
    """Of UTF-8."""
    characters: int
    """Code points."""
    words: int
    """Between white space, as `str.split` cuts."""
    figures: dict[str, Figures]
    """By the names of the tokenizers."""


@dataclass(frozen=True)
class Measured:
    """One tokenizer on the whole text."""

    name: str
    vocabulary: int
    """How many ids there are, those of added tokens too."""
    never_used: int
    """Ids that the text has no token of."""
    never_used_share: float
    seconds: float
    """To encode all text once, on one thread."""
    processor_seconds: float
    megabytes_per_second: float | None
    """By the clock; a megabyte is 1,000,000 bytes of UTF-8. None without text."""
    megabytes_per_processor_second: float | None


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`. Special tokens around texts are not counted."""

    tokenizers: tuple[Measured, ...]
    total: Group
    kinds: tuple[Group, ...]
    """By the kind of text, as names of files say it; the largest first, as `scripts`."""
    scripts: tuple[Group, ...]
    """By Unicode's script. A character that several scripts have (a space, a digit, a comma) counts as the letter
    before it, a token and a word as their last character."""
    files: tuple[Group, ...]
    """In the order in which they were read."""
    passed_over: tuple[str, ...]
    """Files of directories that are not UTF-8 text."""
    machine: str
    """The processor that the speeds are of."""

    def to_json(self) -> str:
        """As one object, with a newline at the end. Shares and rates have their digits."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"

    def lines(self, most: int = 20) -> list[str]:
        """For a terminal, with at most `most` rows of each grouping."""
        names = [each.name for each in self.tokenizers]
        has_unknown = any(self.total.figures[name].unknown_tokens for name in names)
        heads = ["tokenizer", "tokens", "bytes/token", "characters/token", "tokens/word", "single bytes"]
        heads += ["unknown"] * has_unknown + ["never used", "MB/s", "MB/s of processor"]
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
    """How much text was read."""
    return (
        f"{plural(files, 'file')}, {plural(total.bytes, 'byte')}, {plural(total.characters, 'character')}, "
        f"{plural(total.words, 'word')}"
    )


def script(name: str) -> str:
    """The name of a script, for people."""
    return "no letter before" if name == "Common" else name.replace("_", " ")


def rate(value: float | None, digits: int = 3) -> str:
    """A rate with `digits` behind the point."""
    return "\u2013" if value is None else f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """Per cent."""
    return "\u2013" if value is None else "<0.01%" if 0 < value < 0.00005 else f"{value:.2%}"


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first column is aligned to the left and all others to the right."""
    widths = [max(map(width_of, column)) for column in zip(heads, *rows, strict=True)]

    def padded(cell: str, place: int) -> str:
        blanks = " " * (widths[place] - width_of(cell))
        return blanks + cell if place else cell + blanks

    return ["  ".join(padded(cell, place) for place, cell in enumerate(row)).rstrip() for row in (heads, *rows)]

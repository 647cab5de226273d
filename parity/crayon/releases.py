"""Compare another release of CRAYON on the same cartridge and texts: tokens, ids and round trips."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from crayon_hf import CrayonVocab
from crayon_hf.util.markdown import table_lines
from parity.crayon.processes import Opened

_BATCH = 1000
_UNKNOWN = 1


@dataclass
class Side:
    """The counts of one release, or of ours, over a set of texts."""

    name: str
    tokens: int = 0
    unchanged: int = 0
    """The number of texts that are the same after encoding and decoding."""
    lost: int = 0
    """The number of characters that decoding cannot restore, because one of their bytes begins no token."""
    same_ids: int = 0
    """The number of texts that have the same ids as in release 5.3.8."""

    def add(self, texts: list[str], rows: list[list[int]], back: list[str], reference: list[list[int]]) -> None:
        """Count a batch: its texts, their ids, the decoded texts, and the ids of release 5.3.8."""
        self.tokens += sum(map(len, rows))
        self.unchanged += sum(text == decoded for text, decoded in zip(texts, back, strict=True))
        self.same_ids += sum(one == two for one, two in zip(rows, reference, strict=True))


def lost_characters(text: str, ids: Sequence[int], tokens: Sequence[bytes]) -> int:
    """Return the number of characters of a text that its ids lose: id 1 replaces each byte that begins no token.

    Raise ValueError if the ids are not those of the text.

    >>> lost_characters('a"é', [0, 1, 1, 1], [b"a", b'"'])
    1
    """
    data, at, lost = text.encode(), 0, set()
    for id in ids:
        token = tokens[id]
        if data.startswith(token, at) and token:
            at += len(token)
        elif id == _UNKNOWN and at < len(data):
            lost.add(at)
            at += 1
        else:
            raise ValueError(f"id {id} does not match the text at byte {at}")
    if at != len(data):
        raise ValueError(f"the ids end at byte {at} of {len(data)}")
    starts = [at]
    for start in lost:
        while data[start] & 0xC0 == 0x80:
            start -= 1
        starts.append(start)
    return len(set(starts)) - 1


def contrast(path: str, crayon: Opened, other: Opened, texts: Iterable[str]) -> tuple[int, int, list[Side]]:
    """Return the numbers of texts and characters, and the counts of `crayon`, `other` and our default `CrayonVocab`."""
    ours = CrayonVocab()
    ours.load_profile(path)
    tokens = [token.encode() for token in json.loads(Path(path).with_suffix(".json").read_bytes())]
    sides = [Side(crayon.release), Side(other.release), Side("crayon-hf")]
    count = characters = 0
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        count += len(batch)
        characters += sum(map(len, batch))
        reference = crayon.ids(batch)
        for side, opened in zip(sides, (crayon, other), strict=False):
            rows = opened.ids(batch)
            side.add(batch, rows, opened.decode(rows), reference)
            side.lost += sum(lost_characters(text, row, tokens) for text, row in zip(batch, rows, strict=True))
        rows = ours.tokenize(batch)
        sides[2].add(batch, rows, [ours.decode(row) for row in rows], reference)
    return count, characters, sides


def show(path: str, crayon: Opened, other: Opened, sets: Iterator[tuple[str, Iterable[tuple[str, str]]]]) -> None:
    """Print a table that contrasts two releases of CRAYON and ours over one cartridge."""
    print(f"\n{Path(path).name}: xerv-crayon {crayon.release} ({crayon.engine}, {crayon.gives})")
    print(f"  beside {other.release} ({other.engine}, {other.gives}) and CrayonVocab() of crayon-hf\n")

    def rows() -> Iterator[tuple[str, ...]]:
        for name, made in sets:
            count, characters, sides = contrast(path, crayon, other, (text for _, text in made))
            for side in sides:
                ratio = f"{side.tokens / max(sides[0].tokens, 1):.3f}"
                shares = (
                    f"{side.same_ids / count:.1%}",
                    f"{side.unchanged / count:.1%}",
                    f"{side.lost / characters:.2%}",
                )
                yield name, f"{count:,}", side.name, f"{side.tokens:,}", ratio, *shares

    heads = ("inputs", "texts", "of", "tokens", "/ 5.3.8's", "texts with its ids", "come back", "characters lost")
    for line in table_lines(heads, rows(), numbers=5):
        print(line, flush=True)

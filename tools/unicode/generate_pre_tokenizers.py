"""Measures the character sets of the reference's pre-tokenizers and writes cpp/src/unicode/pre_tokenizer_classes.inc.

`Whitespace`, `WhitespaceSplit`, `Punctuation`, `Digits` and `UnicodeScripts` of the installed `tokenizers` each have
their own Unicode version, so every set is measured on them, for every code point.

    python tools/unicode/generate_pre_tokenizers.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import table_file
from generate_classes import BLOCK, CODE_POINTS, batches, pack, rows
from tokenizers import pre_tokenizers

OUTPUT = Path(__file__).resolve().parents[2] / "cpp" / "src" / "unicode" / "pre_tokenizer_classes.inc"

# The bits of a table entry; char_tables.h has them too.
WHITE = 0x01  # white space of WhitespaceSplit and BertPreTokenizer
PUNCTUATION = 0x02  # of Punctuation and BertPreTokenizer
NUMERIC = 0x04  # of Digits
WORD = 0x08  # \w of Whitespace
SPACE = 0x10  # \s of Whitespace


def flag_table() -> bytearray:
    """Return one byte for every code point: the flags above."""
    table = bytearray(CODE_POINTS)
    white_split = pre_tokenizers.WhitespaceSplit()
    punctuation = pre_tokenizers.Punctuation("isolated")
    digits = pre_tokenizers.Digits(individual_digits=True)
    for batch in batches():
        kept = {char for piece, _ in white_split.pre_tokenize_str(batch) for char in piece}
        for char in batch:
            if char not in kept:
                table[ord(char)] |= WHITE
        # Between letters, an isolated character is a piece.
        between = "a" + "a".join(batch) + "a"
        for flag, isolating in ((PUNCTUATION, punctuation), (NUMERIC, digits)):
            for piece, _ in isolating.pre_tokenize_str(between):
                if len(piece) == 1 and piece != "a":
                    table[ord(piece)] |= flag
        units = "".join(f"_{char} " for char in batch)
        pieces = {start: piece for piece, (start, _) in pre_tokenizers.Whitespace().pre_tokenize_str(units)}
        for i, char in enumerate(batch):
            if len(pieces[3 * i]) == 2:
                table[ord(char)] |= WORD
            elif 3 * i + 1 not in pieces:
                table[ord(char)] |= SPACE
    return table


def cuts(text: str) -> set[int]:
    """Return the positions where UnicodeScripts begins a piece."""
    return {start for _, (start, _) in pre_tokenizers.UnicodeScripts().pre_tokenize_str(text)}


def script_table(cuts: Callable[[str], set[int]] = cuts) -> bytearray:
    """Return a number for each code point: equal for the same script, 0 for "Any".

    `cuts` returns where the pieces of a text begin. Scripts are numbered in order of their first code points.
    """
    table = bytearray(CODE_POINTS)
    representatives: list[str] = []  # of the scripts numbered 1, 2, ...
    current = 0
    for batch in batches():
        # A character of script "Any" joins the script before it, such as Latin or Han. Most code points are "Any".
        cut = cuts("".join(f"a{char}" for char in batch))
        joined = [char for i, char in enumerate(batch) if 2 * i + 1 not in cut]
        if len(cuts("漢" + "".join(joined))) > 1:
            cut = cuts("".join(f"漢{char}" for char in joined))
            joined = [char for i, char in enumerate(joined) if 2 * i + 1 not in cut]
        of_any = set(joined)
        chars = [char for char in batch if char not in of_any]
        changes = cuts("".join(chars))
        for i, char in enumerate(chars):
            if i in changes:
                beside = cuts("".join(f"{known}{char}" for known in representatives))
                same = [n for n in range(len(representatives)) if 2 * n + 1 not in beside]
                if len(same) > 1:
                    raise SystemExit(f"U+{ord(char):04X} is of several scripts: {same}")
                if not same:
                    representatives.append(char)
                current = same[0] + 1 if same else len(representatives)
            table[ord(char)] = current
    return table


def script_ranges(table: bytearray) -> list[tuple[int, int]]:
    """Return (first code point, number) of each run of equal numbers."""
    return [(c, table[c]) for c in range(CODE_POINTS) if c == 0 or table[c] != table[c - 1]]


def render() -> str:
    flags = flag_table()
    index, blocks = pack(flags)
    scripts = script_table()
    ranges = script_ranges(scripts)
    return f"""\
// Measured from tokenizers {version("tokenizers")} by tools/unicode/generate_pre_tokenizers.py. Do not edit.
// The flags of each code point: the number of the block of each run of {BLOCK} code points, and the blocks.

const uint8_t kFlagIndex[{len(index)}] = {{
{rows(index, 64)}
}};

const uint8_t kFlagBlocks[{len(blocks)}][{BLOCK}] = {{
{chr(10).join("{" + rows(block, 64) + "}," for block in blocks)}
}};

// The {max(scripts)} scripts of UnicodeScripts, numbered as they come; 0 is "Any". Each run of code points of one
// script: its first code point, and the script in the last byte.
const uint32_t kScriptRuns[{len(ranges)}] = {{
{rows([start << 8 | script for start, script in ranges], 16)}
}};
"""


if __name__ == "__main__":
    sys.exit(table_file.main(__doc__, render, OUTPUT))

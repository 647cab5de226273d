"""Measures the character classes of the reference tokenizers and writes cpp/src/unicode/unicode_classes.inc.

Each library has its own Unicode version, so Python's tables are not used. Every class is measured on the installed
`tokenizers` and `tiktoken`, for every code point.

    python tools/unicode/generate_classes.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

import table_file
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

OUTPUT = Path(__file__).resolve().parents[2] / "cpp" / "src" / "unicode" / "unicode_classes.inc"
CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)
BLOCK = 128
BATCH = 512  # small, because finding an added token takes longer the more text precedes it

# The values of CharClass in unicode.h, each with a pattern for its characters.
CLASSES = {
    1: r"[\p{Lu}\p{Lt}]",
    2: r"\p{Ll}",
    3: r"[\p{Lm}\p{Lo}]",
    4: r"\p{M}",
    5: r"\p{N}",
    6: r"[^\S\r\n]",
    7: r"[\r\n]",
}
# Sets that the patterns use as a whole: each must be the union of the named classes.
UNIONS = {r"\p{L}": (1, 2, 3), r"\s": (6, 7), r"[^\s\p{L}\p{N}]": (0, 4)}

WORD_BIT = 0x08
SPACE_BIT = 0x10


def batches() -> Iterable[str]:
    """Every code point except the surrogates, once, in batches."""
    points = [chr(c) for c in range(CODE_POINTS) if c not in SURROGATES]
    for start in range(0, len(points), BATCH):
        yield "".join(points[start : start + BATCH])


def oniguruma_members(pattern: str) -> set[int]:
    """Return the characters that `pattern` matches in Hugging Face tokenizers."""
    split = Split(Regex(pattern), behavior="removed", invert=True)
    return {ord(char) for batch in batches() for piece, _ in split.pre_tokenize_str(batch) for char in piece}


def rust_members(pattern: str) -> set[int]:
    """Return the characters that `pattern` matches in tiktoken, which drops text that its pattern does not match."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("classes", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return {ord(char) for batch in batches() for char in encoding.decode(encoding.encode_ordinary(batch))}


def class_table(members: Callable[[str], set[int]]) -> bytearray:
    """Return one class per code point. Raises if the classes overlap or have gaps."""
    table = bytearray(CODE_POINTS)
    for value, pattern in CLASSES.items():
        for point in members(pattern):
            if table[point]:
                raise SystemExit(f"U+{point:04X} is in two classes: {table[point]} and {value}")
            table[point] = value
    for pattern, values in UNIONS.items():
        expected = {c for c in range(CODE_POINTS) if table[c] in values and c not in SURROGATES}
        if members(pattern) != expected:
            raise SystemExit(f"{pattern} is not the union of the classes {values}")
    return table


def added_token_ranges(token: AddedToken, text: str) -> list[tuple[int, int]]:
    """Return the matches of an added token in `text`, with the white space that it takes."""
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.add_tokens([token])
    number = tokenizer.token_to_id(token.content)
    encoding = tokenizer.encode(text)
    return [place for id_, place in zip(encoding.ids, encoding.offsets, strict=True) if id_ == number]


def word_and_space() -> tuple[set[int], set[int]]:
    r"""The \w and \s of the regex crate, from `single_word` and from `rstrip` and `lstrip` of added tokens."""
    word: set[int] = set()
    space: set[int] = set()
    # Uses two added tokens ("markers"), because a marker cannot measure its own character.
    for marker, texts in (("\u2603", batches()), ("\u2620", ["\u2603"])):
        for batch in texts:
            chars = [c for c in batch if c != marker]
            for left in (False, True):
                # A "#" on the far side is neither \w nor \s.
                text = "".join(f"#{c}{marker}#" if left else f"#{marker}{c}#" for c in chars)
                found = {a // 4 for a, _ in added_token_ranges(AddedToken(marker, single_word=True), text)}
                members = {ord(c) for i, c in enumerate(chars) if i not in found}
                stripping = AddedToken(marker, lstrip=left, rstrip=not left)
                wide = {ord(chars[a // 4]) for a, b in added_token_ranges(stripping, text) if b - a == 2}
                if left:
                    batch_points = {ord(c) for c in chars}
                    if members != word & batch_points or wide != space & batch_points:
                        raise SystemExit("the two sides of an added token see different sets")
                word |= members
                space |= wide
    return word, space


def pack(table: bytearray) -> tuple[list[int], list[bytes]]:
    """Two stages: the number of the block for each run of BLOCK code points, and the distinct blocks."""
    blocks: dict[bytes, int] = {}
    index = [
        blocks.setdefault(bytes(table[start : start + BLOCK]), len(blocks)) for start in range(0, CODE_POINTS, BLOCK)
    ]
    if len(blocks) > 256:
        raise SystemExit(f"{len(blocks)} blocks do not fit a byte")
    return index, list(blocks)


def rows(values: Iterable[int], width: int) -> str:
    flat = list(values)
    return "\n".join(",".join(map(str, flat[i : i + width])) + "," for i in range(0, len(flat), width))


def render() -> str:
    classes = class_table(oniguruma_members)
    if class_table(rust_members) != classes:
        raise SystemExit("the two libraries see different classes: the engine needs one table for each flavor now")
    word, space = word_and_space()
    table = bytearray(
        value | (WORD_BIT if point in word else 0) | (SPACE_BIT if point in space else 0)
        for point, value in enumerate(classes)
    )
    index, blocks = pack(table)
    libraries = f"tokenizers {version('tokenizers')} and tiktoken {version('tiktoken')}"
    return f"""\
// Measured from {libraries} by tools/unicode/generate_classes.py. Do not edit.
// Oniguruma and the regex crate of these versions give every code point the same class. A byte is the CharClass,
// with {WORD_BIT:#04x} for the \\w of added tokens ({len(word)}) and {SPACE_BIT:#04x} for their \\s ({len(space)}).

extern const uint8_t kClassIndex[{len(index)}] = {{
{rows(index, 64)}
}};

extern const uint8_t kClassBlocks[{len(blocks)}][{BLOCK}] = {{
{chr(10).join("{" + rows(block, 64) + "}," for block in blocks)}
}};
"""


if __name__ == "__main__":
    sys.exit(table_file.main(__doc__, render, OUTPUT))

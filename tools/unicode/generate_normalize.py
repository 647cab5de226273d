"""Measures the effect of the normalizers of the installed ``tokenizers`` on each character: ``char_kind_tables.inc``.

Canonical and compatibility forms are in ``generate_nfc.py``. This file has lower case, the characters that Bert, Nmt
and StripAccents remove or replace with a space, and the grapheme cluster classes of Precompiled. No Unicode data file
is used.

    PYTHONPATH=. python tools/unicode/generate_normalize.py            # rewrites the tables
    PYTHONPATH=. python tools/unicode/generate_normalize.py --check    # exit status 1 when they differ
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import table_file
import tokenizers
from table_file import array_lines as lines
from tokenizers import normalizers

from parity.components.charsmap import charsmap

TABLES = Path(__file__).resolve().parents[2] / "cpp" / "src" / "unicode" / "char_kind_tables.inc"
CODE_POINTS, BLOCK = 0x110000, 64
# char_kinds.h names these again.
GRAPHEME = ["other", "control", "extend", "zwj", "spacing_mark", "prepend", "l", "v", "t", "lv", "lvt", "pictograph"]
GRAPHEME += ["consonant"]
LINKER, CLUSTER_EXTEND = 1 << 4, 1 << 5
BERT_REMOVED, BERT_SPACE, CHINESE, NONSPACING, COMBINING, NMT_REMOVED, NMT_SPACE = (1 << bit for bit in range(6, 13))
SEVERAL = 255  # in place of an index: the lower case is several characters

ACUTE, ZWJ, KA, VIRAMA, L, V, T = map(chr, (0x301, 0x200D, 0x915, 0x94D, 0x1100, 0x1161, 0x11A8))
# A mark for each size of a character in bytes. The cluster of the character, `a` and the mark has six bytes or more,
# that of `a` and the mark fewer.
FILLERS = {1: "\U000e0100", 2: "\u20d0", 3: "\u0301", 4: "\u0301"}
PROBES = {"a": "b", ACUTE: "!", "\u00a9": "Y", KA: "K", L: "L", V: "V", T: "T"}


def code_points() -> list[int]:
    return [cp for cp in range(CODE_POINTS) if not 0xD800 <= cp < 0xE000]


def each(normalizer: normalizers.Normalizer, probe: Callable[[str], str], separator: str = "\n") -> dict[int, str]:
    """Return the normalized probe(c) for every c except the separator and CR. One call normalizes many."""
    points = [cp for cp in code_points() if chr(cp) not in separator + "\r"]
    found: dict[int, str] = {}
    for start in range(0, len(points), 4096):
        batch = points[start : start + 4096]
        lines = normalizer.normalize_str(separator.join(probe(chr(cp)) for cp in batch)).split(separator)
        found.update(zip(batch, lines, strict=True))
    return found


def bert(clean: bool = False, chinese: bool = False, strip: bool = False) -> normalizers.Normalizer:
    return normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=False
    )


def flags() -> list[int]:
    """Return the removals and replacements of every code point."""
    table = [0] * CODE_POINTS

    def take(bit: int, normalizer: normalizers.Normalizer, result: Callable[[str], str]) -> None:
        for cp, text in each(normalizer, lambda c: f"#{c}#", "|").items():
            if text == f"#{result(chr(cp))}#" != f"#{chr(cp)}#":
                table[cp] |= bit
        for cp in (0x0D, 0x7C):
            if normalizer.normalize_str(chr(cp)) == result(chr(cp)) != chr(cp):
                table[cp] |= bit

    take(BERT_REMOVED, bert(clean=True), lambda c: "")
    take(BERT_SPACE, bert(clean=True), lambda c: " ")
    take(CHINESE, bert(chinese=True), lambda c: f" {c} ")
    take(COMBINING, normalizers.StripAccents(), lambda c: "")
    take(NMT_REMOVED, normalizers.Nmt(), lambda c: "")
    take(NMT_SPACE, normalizers.Nmt(), lambda c: " ")
    take(NONSPACING, bert(strip=True), lambda c: "")
    return table


def graphemes(table: list[int]) -> None:
    """Add the cluster class of every code point. Precompiled replaces whole clusters of less than six bytes."""
    normalizer = normalizers.Precompiled(charsmap(PROBES))

    def members(probe: Callable[[str], str], test: Callable[[int, str], bool]) -> set[int]:
        return {cp for cp, text in each(normalizer, probe).items() if test(cp, text)}

    def joined(probe: Callable[[str], str]) -> set[int]:
        return members(probe, lambda _, text: text.endswith("!"))

    control = members(lambda c: c + 2 * ACUTE, lambda _, text: text.count("!") == 1) | {0x0A, 0x0D}
    joins = members(lambda c: "a" + c, lambda _, text: text == "b")
    prepend = members(
        lambda c: f"{c}a{FILLERS[len(c.encode())]}", lambda cp, text: text.endswith(FILLERS[len(chr(cp).encode())])
    )
    prepend |= joined(lambda c: f"{c}a{ACUTE}") & set(range(0x800, CODE_POINTS))
    extend = joined(lambda c: f"\u00a9{c}{ZWJ}\u00a9{ACUTE}") & joins
    pictograph = members(lambda c: f"\u00a9{ZWJ}{c}", lambda _, text: text.startswith("Y" + ZWJ)) - joins
    linker = joined(lambda c: KA + c + KA + ACUTE) - prepend
    cluster_extend = joined(lambda c: KA + VIRAMA + c + KA + ACUTE) - prepend
    consonant = joined(lambda c: c + VIRAMA + KA + ACUTE) - prepend - cluster_extend

    def before(jamo: str) -> set[int]:
        return joined(lambda c: c + jamo + ACUTE) - prepend

    before_l, before_v, before_t = before(L), before(V), before(T)

    syllables = set(range(0xAC00, 0xD7A4))
    lv = {cp for cp in syllables if (cp - 0xAC00) % 28 == 0}
    if not (syllables <= before_t and before_v & syllables == lv and not before_l & syllables):
        raise SystemExit("Hangul syllables do not join as they should")
    classes = {
        "control": control,
        "zwj": {ord(ZWJ)},
        "extend": extend - {ord(ZWJ)},
        "spacing_mark": joins - extend - {ord(ZWJ)},
        "prepend": prepend,
        "l": before_l,
        "v": before_v - before_l - lv,
        "t": before_t - before_v - syllables,
        "lv": lv,
        "lvt": syllables - lv,
        "pictograph": pictograph,
        "consonant": consonant,
    }
    for name, points in classes.items():
        print(f"{name}: {len(points)}", file=sys.stderr)
        for cp in points:
            if table[cp] & 15:
                raise SystemExit(f"U+{cp:04X} is {GRAPHEME[table[cp] & 15]} and {name}")
            table[cp] |= GRAPHEME.index(name)
    for cp in linker:
        table[cp] |= LINKER
    for cp in cluster_extend:
        table[cp] |= CLUSTER_EXTEND
    print(f"linkers: {len(linker)}, extending clusters: {len(cluster_extend)}", file=sys.stderr)


def lowercase() -> tuple[list[int], list[int]]:
    """Return, for every code point, the index of the difference to its lower case; and the differences."""
    table, differences = [0] * CODE_POINTS, [0]
    lower = each(normalizers.Lowercase(), lambda c: c)
    for cp, text in lower.items():
        if text == chr(cp):
            continue
        if len(text) != 1:
            if (cp, text) != (0x130, "i\u0307"):
                raise SystemExit(f"U+{cp:04X} has {len(text)} lower case characters")
            table[cp] = SEVERAL
            continue
        difference = ord(text) - cp
        if difference not in differences:
            differences.append(difference)
        table[cp] = differences.index(difference)
    if len(differences) > SEVERAL:
        raise SystemExit("too many differences for a byte")
    return table, differences


def packed(name: str, table: Sequence[int]) -> Iterable[str]:
    limit = (max(cp for cp, value in enumerate(table) if value != table[-1]) // BLOCK + 1) * BLOCK
    blocks: dict[tuple[int, ...], int] = {}
    index = [blocks.setdefault(tuple(table[start : start + BLOCK]), len(blocks)) for start in range(0, limit, BLOCK)]
    yield f"constexpr uint32_t k{name}Limit = {limit:#x};  // from here on all are {table[-1]}"
    yield from lines(f"k{name}BlockOf", "uint8_t" if len(blocks) <= 256 else "uint16_t", index)
    yield from lines(f"k{name}Blocks", "uint8_t", [value for block in blocks for value in block])


def render() -> str:
    table = flags()
    graphemes(table)
    values = sorted(set(table))
    if len(values) > 256:
        raise SystemExit("too many kinds of characters for a byte")
    numbers = {value: number for number, value in enumerate(values)}
    lower, differences = lowercase()
    out = [
        f"// Measured from tokenizers {tokenizers.__version__} by tools/unicode/generate_normalize.py; "
        "not to be edited.",
        "// clang-format off",
        "",
        "// Kinds of characters (char_kinds.h has the bits), and the kind of each in blocks.",
        *lines("kKinds", "uint16_t", values),
        *packed("Kind", [numbers[value] for value in table]),
        "",
        "// Differences to the lower case, and which of them each character has.",
        *lines("kLowerDifferences", "int32_t", differences),
        *packed("Lower", lower),
        "// clang-format on",
    ]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.exit(table_file.main(__doc__, render, TABLES))

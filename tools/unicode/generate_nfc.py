"""Measures NFC, NFD, NFKC and NFKD of the installed ``tokenizers`` and writes ``cpp/src/unicode/nfc_tables.inc``.

The reference has Unicode tables of its own version, so no Unicode data file is used. Every decomposition is the NFD or
NFKD of a code point. Every composition is one that the reference performs. Every combining class follows from the marks
that it reorders with; Python's ``unicodedata`` only supplies the numbers of the classes.

    python tools/unicode/generate_nfc.py            # rewrites the tables
    python tools/unicode/generate_nfc.py --check    # exit status 1 when they differ
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import table_file
import tokenizers
from tokenizers import normalizers

TABLES = Path(__file__).resolve().parents[2] / "cpp" / "src" / "unicode" / "nfc_tables.inc"
BLOCK = 64
HANGUL = range(0xAC00, 0xD7A4)
JAMO_V = range(0x1161, 0x1176)
JAMO_T = range(0x11A8, 0x11C3)
# Property bits; normalize_forms.cpp names them again.
NEEDS_WORK = 1 << 8
JOINS_BEFORE = 1 << 9
NFD_WORK, NFKC_WORK, NFKD_WORK, K_JOINS_BEFORE = 1 << 10, 1 << 11, 1 << 12, 1 << 13

nfc = normalizers.NFC().normalize_str
nfd = normalizers.NFD().normalize_str
nfkc = normalizers.NFKC().normalize_str
nfkd = normalizers.NFKD().normalize_str


def all_code_points() -> Iterable[int]:
    return (cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000)


def measure_decompositions() -> dict[int, str]:
    """Return the full canonical decompositions, without Hangul syllables, which are checked to follow the algorithm."""
    found = {cp: nfd(chr(cp)) for cp in all_code_points() if nfd(chr(cp)) != chr(cp)}
    for cp in HANGUL:
        index = cp - 0xAC00
        jamo = [0x1100 + index // 588, 0x1161 + index % 588 // 28] + ([0x11A7 + index % 28] if index % 28 else [])
        if found.pop(cp, None) != "".join(map(chr, jamo)):
            raise SystemExit(f"U+{cp:04X} does not decompose by the Hangul algorithm")
    return found


def measure_compatibility(decompositions: dict[int, str]) -> dict[int, str]:
    """Return the full compatibility decompositions that differ from the canonical ones."""
    found = {}
    for cp in all_code_points():
        full = nfkd(chr(cp))
        if cp in HANGUL:
            if full != nfd(chr(cp)):
                raise SystemExit(f"U+{cp:04X} does not decompose by the Hangul algorithm")
        elif full != decompositions.get(cp, chr(cp)):
            found[cp] = full
        if nfkc(chr(cp)) != nfc(full):
            raise SystemExit(f"NFKC of U+{cp:04X} is not the composition of its NFKD")
    return found


def measure_classes(decompositions: dict[int, str]) -> dict[int, int]:
    """Return the combining classes other than 0 of code points that do not decompose.

    In "xy", x moves after y exactly if class(x) > class(y) > 0."""

    def swaps(x: int, y: int) -> bool:
        return nfd(chr(x) + chr(y)) != chr(x) + chr(y)

    # Two marks that every version has, of the least and the greatest class, find all others.
    least, greatest = 0x0334, 0x0345
    candidates = [cp for cp in all_code_points() if cp not in decompositions and cp not in HANGUL]
    marks = [cp for cp in candidates if swaps(cp, least) or swaps(greatest, cp)]
    if any(swaps(least, cp) or swaps(cp, greatest) for cp in marks):
        raise SystemExit("a mark is outside the classes that were thought to be the first and the last")

    representative: dict[int, int] = {}
    for cp in marks:
        representative.setdefault(unicodedata.combining(chr(cp)), cp)
    if 0 in representative:
        raise SystemExit(f"U+{representative[0]:04X} is a mark to the reference and not to this Python")
    classes: dict[int, int] = {}
    for cp in marks:
        named = unicodedata.combining(chr(cp))
        for value, other in representative.items():
            if swaps(cp, other) != (named > value) or swaps(other, cp) != (value > named):
                raise SystemExit(f"U+{cp:04X} does not behave as a mark of class {named}")
        classes[cp] = named
    return classes


def measure_compositions(decompositions: dict[int, str]) -> list[tuple[int, int, int]]:
    """Return (first, second, composite), without Hangul."""
    pairs = []
    for cp, full in decompositions.items():
        if nfc(chr(cp)) != chr(cp):
            continue  # a singleton or a composition exclusion
        first, second = nfc(full[:-1]), full[-1]
        if len(first) != 1 or nfc(first + second) != chr(cp):
            raise SystemExit(f"U+{cp:04X} is not a composite of two characters")
        pairs.append((ord(first), ord(second), cp))
    known = {(first, second) for first, second, _ in pairs}
    starts = sorted({ord(full[0]) for full in decompositions.values()} | {first for first, _ in known} | {0x1100})
    seconds = sorted({ord(c) for full in decompositions.values() for c in full[1:]} | {second for _, second in known})
    for x in starts:
        for y in seconds:
            text = chr(x) + chr(y)
            if (x, y) not in known and len(nfc(text)) == 1 and nfd(text)[-1] == chr(y):
                raise SystemExit(f"U+{x:04X} U+{y:04X} compose, and no decomposition says so")
    for v in range(0x1160, 0x1178):
        if (len(nfc(chr(0x1100) + chr(v))) == 1) != (v in JAMO_V):
            raise SystemExit(f"U+{v:04X} does not follow the Hangul algorithm")
    for t in range(0x11A6, 0x11C5):
        if (len(nfc(chr(0xAC00) + chr(t))) == 1) != (t in JAMO_T):
            raise SystemExit(f"U+{t:04X} does not follow the Hangul algorithm")
    return sorted(pairs)


def properties(
    decompositions: dict[int, str],
    compatibility: dict[int, str],
    classes: dict[int, int],
    compositions: Sequence[tuple[int, int, int]],
) -> dict[int, int]:
    """Return class and bits of every code point that is not inert.

    NEEDS_WORK: NFC may change it or the character before it in some context (NFC_QC: No or Maybe). Each other form has
    its own bit.
    JOINS_BEFORE: it may move before, or combine with, the character before it, so a text cannot be cut there. The
    compatibility forms have their own bit."""
    seconds = {second for _, second, _ in compositions} | set(JAMO_V) | set(JAMO_T)
    found: dict[int, int] = {}
    for cp in sorted(set(classes) | set(decompositions) | set(compatibility) | set(HANGUL) | seconds):
        char = chr(cp)
        lead = ord(decompositions.get(cp, char)[0])
        k_lead = ord(compatibility.get(cp, chr(lead))[0])
        value = classes.get(cp, 0)
        if cp in seconds or nfc(char) != char:
            value |= NEEDS_WORK
        if lead in classes or lead in seconds:
            value |= JOINS_BEFORE
        if nfd(char) != char:
            value |= NFD_WORK
        if cp in seconds or nfkc(char) != char:
            value |= NFKC_WORK
        if nfkd(char) != char:
            value |= NFKD_WORK
        if k_lead in classes or k_lead in seconds:
            value |= K_JOINS_BEFORE
        if value:
            found[cp] = value
    return found


def lines(name: str, kind: str, values: Sequence[int]) -> list[str]:
    return table_file.array_lines(name, kind, values, lambda value: f"{value:#x}" if value > 9 else f"{value}")


def decomposition_lines(prefix: str, decompositions: dict[int, str]) -> list[str]:
    pool: list[int] = []
    starts = []
    for cp in sorted(decompositions):
        starts.append(len(pool))
        pool += map(ord, decompositions[cp])
    starts.append(len(pool))
    return [
        *lines(prefix + "Decomposed", "uint32_t", sorted(decompositions)),
        *lines(prefix + "PieceStart", "uint16_t", starts),
        *lines(prefix + "Pieces", "uint32_t", pool),
    ]


def render() -> str:
    decompositions = measure_decompositions()
    classes = measure_classes(decompositions)
    compositions = measure_compositions(decompositions)
    compatibility = measure_compatibility(decompositions)
    special = properties(decompositions, compatibility, classes, compositions)

    limit = (max(special) // BLOCK + 1) * BLOCK
    values = sorted(set(special.values()) | {0})
    blocks: dict[tuple[int, ...], int] = {(0,) * BLOCK: 0}
    index = []
    for start in range(0, limit, BLOCK):
        block = tuple(values.index(special.get(cp, 0)) for cp in range(start, start + BLOCK))
        index.append(blocks.setdefault(block, len(blocks)))
    if len(values) > 256 or len(blocks) > 0xFFFF:
        raise SystemExit("the tables outgrew their types")

    out = [
        f"// Measured from tokenizers {tokenizers.__version__} by tools/unicode/generate_nfc.py; not to be edited.",
        f"// {len(decompositions)} decompositions, {len(compatibility)} that are of compatibility alone, "
        f"{len(compositions)} compositions (Hangul apart), {len(classes)} marks.",
        "// clang-format off",
        "",
        "// Class in the low byte; NEEDS_WORK (0x100), JOINS_BEFORE (0x200); work for NFD (0x400), NFKC (0x800), NFKD",
        "// (0x1000); joins before in NFKC and NFKD (0x2000). 0 for inert characters.",
        *lines("kNfcPropertyValues", "uint16_t", values),
        f"constexpr uint32_t kNfcPropertyLimit = {limit:#x};  // code points from here on are inert",
        f"// Block of {BLOCK} code points -> number of its block below; block 0 is inert.",
        *lines("kNfcBlockOf", "uint8_t" if len(blocks) <= 256 else "uint16_t", index),
        *lines("kNfcBlocks", "uint8_t", [value for block in blocks for value in block]),
        "",
        "// Full canonical decompositions: that of kNfcDecomposed[i] is kNfcPieces[kNfcPieceStart[i], [i + 1]).",
        *decomposition_lines("kNfc", decompositions),
        "",
        "// Full compatibility decompositions, where they differ.",
        *decomposition_lines("kNfk", compatibility),
        "",
        "// Compositions in order of (first, second).",
        *lines("kNfcFirst", "uint32_t", [first for first, _, _ in compositions]),
        *lines("kNfcSecond", "uint32_t", [second for _, second, _ in compositions]),
        *lines("kNfcComposite", "uint32_t", [composite for _, _, composite in compositions]),
        "// clang-format on",
    ]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.exit(table_file.main(__doc__, render, TABLES))

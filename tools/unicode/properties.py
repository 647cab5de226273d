r"""Measures the character properties and the case folding of the Oniguruma in the installed `tokenizers`, and writes
cpp/src/unicode/unicode_properties.inc: every name for \p{...} and [[:...:]], with its code points.

The names are those strings of the compiled library that Oniguruma accepts as properties.

    python tools/unicode/properties.py [--check]
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

import table_file
import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

OUTPUT = Path(__file__).resolve().parents[2] / "cpp" / "src" / "unicode" / "unicode_properties.inc"
SURROGATES = range(0xD800, 0xE000)
EVERYTHING = "".join(chr(c) for c in range(0x110000) if c not in SURROGATES)
POSIX = ["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"]
POSIX += ["lower", "print", "punct", "space", "upper", "word", "xdigit"]
# Properties whose complement inside a class differs from the complement outside.
ODD = (r"\p{any}", r"\p{assigned}", r"\p{word}", r"\w", "[[:word:]]")

Ranges = tuple[tuple[int, int], ...]


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return the matches of `pattern`, which does not match the empty string, in `text`."""
    split = Split(Regex(pattern), behavior="removed", invert=True)
    return [place for _, place in split.pre_tokenize_str(text)]


def accepted(pattern: str) -> bool:
    try:
        Regex(pattern)
    except Exception:  # the library raises plain Exception
        return False
    return True


def code_point(offset: int) -> int:
    return offset if offset < SURROGATES.start else offset + len(SURROGATES)


def ranges(pattern: str) -> Ranges:
    """Return the code points that a one-character pattern matches. Ranges on both sides of the surrogates are
    joined."""
    return tuple((code_point(a), code_point(b - 1)) for a, b in matches(f"{pattern}+", EVERYTHING))


def sample() -> str:
    """Return enough code points to distinguish all properties; in large uniform areas only possible borders of
    blocks."""
    areas = [area for name in ("cn", "co", "han", "hangul", "tangut") for area in ranges(rf"\p{{{name}}}")]
    sparse = {c for a, b in areas for c in range(a + 1, b)}

    def wanted(c: int) -> bool:
        if c in SURROGATES:
            return False
        step = 16 if c < 0x32000 or c >> 16 == 0xE else 0x1000
        return c not in sparse or c % step in (0, step - 1) or c & 0xFFF0 == 0xFFF0

    return "".join(chr(c) for c in range(0x110000) if wanted(c))


def sampled_ranges(pattern: str, text: str) -> Ranges:
    """Return what `ranges` returns, but test only the code points in `text`. If a range ends between two samples, test
    all code points."""
    found = []
    for a, b in matches(f"{pattern}+", text):
        for inside, outside in ((a, a - 1), (b - 1, b)):
            end = ord(text[inside])
            beyond = ord(text[outside]) if 0 <= outside < len(text) else end + inside - outside
            if abs(end - beyond) > 1 and (end, beyond) not in ((0xD7FF, 0xE000), (0xE000, 0xD7FF)):
                return ranges(pattern)
        found.append((ord(text[a]), ord(text[b - 1])))
    return tuple(found)


def as_class(points: Ranges) -> str:
    return "".join(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in points)


def verify(measured: dict[str, Ranges]) -> None:
    """Check on all code points that every measured set has exactly the characters that its pattern matches."""
    pieces = []
    for pattern, points in measured.items():
        if pattern in ODD:
            continue
        if not points:
            pieces.append(pattern)
            continue
        listed = as_class(points)
        pieces += [f"[{pattern}&&[^{listed}]]", f"[{listed}&&[^{pattern}]]"]
    for start in range(0, len(pieces), 300):
        different = matches(f"[{''.join(pieces[start : start + 300])}]", EVERYTHING)
        if different:
            raise SystemExit(f"the sample misses U+{code_point(different[0][0]):04X} of some property")


def property_names() -> list[str]:
    """Return every name for \\p{...} in the library."""
    names: set[str] = set()
    for library in sorted(Path(tokenizers.__file__).parent.glob("tokenizers*.so")):
        found = re.findall(rb"(?<=\x00)[A-Za-z][A-Za-z0-9=.]{0,60}(?=\x00)", library.read_bytes())
        names |= {name.decode().lower() for name in found}
    return sorted(name for name in names if accepted(rf"\p{{{name}}}"))


def measure_properties() -> tuple[list[tuple[str, int]], list[Ranges]]:
    """Return the names, sorted, each with the number of its set, and the distinct sets."""
    patterns = {name: rf"\p{{{name}}}" for name in property_names()}
    patterns |= {f"[:{name}:]": f"[[:{name}:]]" for name in POSIX}
    patterns |= {f"\\{letter}": f"\\{letter}" for letter in "dhsw"}
    text = sample()
    measured = {p: ranges(p) if p in ODD else sampled_ranges(p, text) for p in patterns.values()}
    verify(measured)
    sets: dict[Ranges, int] = {}
    names = [(name, sets.setdefault(measured[pattern], len(sets))) for name, pattern in sorted(patterns.items())]
    return names, list(sets)


def measure_folds() -> dict[int, tuple[int, ...]]:
    """Return the case folding of each character that it changes. Strings are equal if their foldings are."""
    cased = sorted({c for name in ("cwcf", "cwcm") for a, b in ranges(rf"\p{{{name}}}") for c in range(a, b + 1)})
    # Separate lines: foldings to several characters would otherwise match across members.
    text = "".join(f"\n{chr(c)}" for c in cased)
    folds: dict[int, tuple[int, ...]] = {}
    for c in cased:
        members = sorted({ord(text[a]) for a, b in matches(rf"(?i)\x{{{c:x}}}", text) if b - a == 1})
        if c not in members:
            raise SystemExit(f"U+{c:04X} does not match itself: {members}")
        full = tuple(map(ord, chr(c).casefold()))
        if len(full) > 1:
            if not all(accepted_fold(c, other) for other in (chr(c).casefold(), chr(c).casefold().upper())):
                raise SystemExit(f"U+{c:04X} does not match its full case folding")
            folds[c] = full
            continue
        lower = [m for m in members if chr(m).casefold() == chr(m)]
        simple = {chr(m).casefold() for m in members if len(chr(m).casefold()) == 1 and chr(m).casefold() != chr(m)}
        target = ord(simple.pop()) if len(simple) == 1 else min(lower)
        if target not in members:
            raise SystemExit(f"U+{c:04X} has no folded form among {members}")
        if target != c:
            folds[c] = (target,)
    for c, full in folds.items():
        if any(part in folds for part in full):
            raise SystemExit(f"the folding of U+{c:04X} is not folded")
    return folds


def accepted_fold(c: int, other: str) -> bool:
    return matches(rf"(?i)\x{{{c:x}}}", other) == [(0, len(other))]


def leb128(number: int) -> list[int]:
    out = []
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return [*out, number]


def packed(points: Ranges) -> list[int]:
    """Return a set as LEB128 bytes: the number of ranges, then for each range the gap before it and its length minus
    one."""
    out = leb128(len(points))
    previous = 0
    for first, last in points:
        out += leb128(first - previous) + leb128(last - first)
        previous = last + 1
    return out


def rows(values: list[str]) -> str:
    lines, line = [], ""
    for value in values:
        if len(line) + len(value) + 1 > 119:
            lines.append(line)
            line = ""
        line += value + ","
    return "\n".join([*lines, line])


def render() -> str:
    names, sets = measure_properties()
    folds = measure_folds()
    data: list[int] = []
    offsets = []
    for points in sets:
        offsets.append(len(data))
        data += packed(points)
    fold_rows = [f"{{{c},{{{','.join(map(str, full))}}}}}" for c, full in sorted(folds.items())]
    return f"""\
// Measured from tokenizers {version("tokenizers")} by tools/unicode/properties.py. Do not edit.
// Sets are LEB128: the number of ranges, then for each the gap before it and its length less one.

constexpr uint8_t kSetData[{len(data)}] = {{
{rows([str(byte) for byte in data])}
}};

constexpr uint32_t kSetOffsets[{len(offsets)}] = {{
{rows([str(offset) for offset in offsets])}
}};

struct PropertyName {{
    const char* name;
    uint16_t set;
}};

constexpr PropertyName kPropertyNames[{len(names)}] = {{
{rows([f'{{"{name.replace(chr(92), chr(92) * 2)}",{number}}}' for name, number in sorted(names)])}
}};

struct FullFold {{
    uint32_t from;
    uint32_t to[3];
}};

constexpr FullFold kFullFolds[{len(folds)}] = {{
{rows(fold_rows)}
}};
"""


if __name__ == "__main__":
    sys.exit(table_file.main(__doc__, render, OUTPUT))

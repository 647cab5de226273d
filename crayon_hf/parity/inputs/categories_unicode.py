"""Categories of controls, of unexpected code points, and of scripts."""

from __future__ import annotations

from collections.abc import Sequence

from . import alphabets as abc
from .categories import any_code_point, category, from_ranges, word
from .randomness import Source

# -- controls and unexpected code points


@category
def controls(rng: Source, specials: Sequence[str]) -> str:
    """NUL, C0, C1, DEL and invisible format characters among words."""
    parts = [rng.pick(abc.CONTROLS)]
    for _ in range(rng.between(0, 14)):
        parts.append(
            rng.text(abc.CONTROLS, 1, 3) if rng.chance(0.5) else rng.pick(("a", " ", "ab", "0", "\n", "\u00e9"))
        )
    return "".join(parts)


@category
def nul(rng: Source, specials: Sequence[str]) -> str:
    """NUL characters at the ends, inside words, and in runs."""
    body = [rng.pick(("a", " ", "word", "\n", "1", "\u0301")) for _ in range(rng.between(0, 6))]
    body.insert(rng.below(len(body) + 1), "\x00" * rng.between(1, 4))
    return "".join(body) + rng.pick(("", "\x00"))


@category
def unassigned(rng: Source, specials: Sequence[str]) -> str:
    """Code points that no Unicode version up to 17 assigns, among letters and spaces."""
    parts = [chr(rng.between(*rng.pick(abc.UNASSIGNED)))]
    for _ in range(rng.between(0, 10)):
        parts.append(
            chr(rng.between(*rng.pick(abc.UNASSIGNED))) if rng.chance(0.6) else rng.pick(("a", " ", "1", "'s"))
        )
    return "".join(parts)


@category
def private_use(rng: Source, specials: Sequence[str]) -> str:
    """Private-use code points of planes 0, 15 and 16."""
    parts = [from_ranges(rng, abc.PRIVATE_USE, 1, 3)]
    for _ in range(rng.between(0, 8)):
        parts.append(from_ranges(rng, abc.PRIVATE_USE, 1, 3) if rng.chance(0.6) else rng.pick(("a", " ", "!", "\n")))
    return "".join(parts)


@category
def noncharacters(rng: Source, specials: Sequence[str]) -> str:
    """U+FFFE, U+FFFF, U+FDD0 and other noncharacters, U+FFFD and byte order marks."""
    parts = [rng.pick(abc.NONCHARACTERS)]
    for _ in range(rng.between(0, 8)):
        parts.append(rng.pick((*abc.NONCHARACTERS, "\ufffd", "\ufeff", "a", " ", "bc")))
    return "".join(parts)


@category
def surrogates(rng: Source, specials: Sequence[str]) -> str:
    """Lone surrogates, high, low, reversed, and pairs written as two code points."""
    parts = [chr(rng.between(0xD800, 0xDFFF))]
    for _ in range(rng.between(0, 8)):
        which = rng.below(5)
        if which == 0:
            parts.append(chr(rng.between(0xD800, 0xDBFF)) + chr(rng.between(0xDC00, 0xDFFF)))
        elif which == 1:
            parts.append(chr(rng.between(0xDC00, 0xDFFF)))
        elif which == 2:
            parts.append(chr(rng.between(0xD800, 0xDBFF)))
        else:
            parts.append(rng.pick(("a", " ", "word", "\U0001f600", "'s", "\n")))
    if specials and rng.chance(0.1):
        parts.append(rng.pick(specials))
    return "".join(parts)


@category
def all_code_points(rng: Source, specials: Sequence[str]) -> str:
    """Uniform over all of Unicode."""
    return "".join([any_code_point(rng) for _ in range(rng.between(1, 40))])


@category
def basic_plane(rng: Source, specials: Sequence[str]) -> str:
    """Uniform over the basic plane, with spaces. A far greater share of it than of all Unicode is assigned."""
    return "".join([" " if rng.chance(0.15) else chr(rng.between(0x20, 0xD7FF)) for _ in range(rng.between(1, 40))])


@category
def newer_code_points(rng: Source, specials: Sequence[str]) -> str:
    """Letters, digits, marks and emoji of Unicode 10 to 17."""
    parts = []
    for _ in range(rng.between(1, 10)):
        parts.append(from_ranges(rng, abc.NEWER, 1, 4))
        parts.append(rng.pick(("", "", " ", "a", "1", "'s", "\u0301")))
    return "".join(parts)


# -- scripts


@category
def combining(rng: Source, specials: Sequence[str]) -> str:
    """Bases with marks in every order, also marks alone, after spaces, after digits, in long stacks."""
    parts = [rng.pick(abc.BASES), rng.pick(abc.COMBINING)]
    for _ in range(rng.between(0, 10)):
        parts.append(rng.pick(abc.BASES))
        parts.append(rng.text(abc.COMBINING, 0, 40 if rng.chance(0.03) else 4))
    return "".join(parts)


@category
def normalization(rng: Source, specials: Sequence[str]) -> str:
    """Composed, decomposed, excluded, singleton and compatibility forms next to each other."""
    parts = []
    for _ in range(rng.between(1, 8)):
        parts.append(rng.text(abc.NORMALIZING, 1, 3))
        parts.append(rng.pick(("", "", " ", "e\u0301", "a", "\u0327\u0301", "\u0301\u0327", "\u0345", "1")))
    return "".join(parts)


@category
def hangul_jamo(rng: Source, specials: Sequence[str]) -> str:
    """Leading, vowel and trailing jamo in and out of order, with syllables that they could join."""
    parts = [chr(rng.between(0x1100, 0x1112)), chr(rng.between(0x1161, 0x1175))]
    for _ in range(rng.between(0, 12)):
        which = rng.below(7)
        if which == 0:
            parts.append(chr(rng.between(0x1100, 0x115F)))
        elif which == 1:
            parts.append(chr(rng.between(0x1160, 0x11A7)))
        elif which == 2:
            parts.append(chr(rng.between(0x11A8, 0x11FF)))
        elif which == 3:
            parts.append(chr(0xAC00 + 28 * rng.below(399)))  # a syllable without a trailing consonant
        elif which == 4:
            parts.append(chr(rng.between(0xAC00, 0xD7A3)))
        elif which == 5:
            parts.append(rng.pick(("\u3131", "\ua960", "\ud7b0", "\ud7cb", "\u302e", "\u0301")))
        else:
            parts.append(rng.pick((" ", "a", "")))
    return "".join(parts)


@category
def cjk(rng: Source, specials: Sequence[str]) -> str:
    """Chinese, Japanese and Korean with their punctuation and full-width forms."""
    parts = []
    for _ in range(rng.between(1, 8)):
        parts.append(from_ranges(rng, [rng.pick(abc.CJK_RANGES)], 1, 8))
        parts.append(rng.pick(("", "", "\u3002", "\uff0c", "\u3001", "\u300c", "\u3000", " ", "A", "\uff11", "\n")))
    return "".join(parts)


@category
def rtl(rng: Source, specials: Sequence[str]) -> str:
    """Hebrew, Arabic, Syriac and N'Ko with points, tatweel and bidirectional controls."""
    parts = [from_ranges(rng, [rng.pick(abc.RTL_RANGES)], 1, 6)]
    for _ in range(rng.between(0, 8)):
        parts.append(
            rng.pick((" ", "", "\u200f", "\u200e", "\u202b", "\u202c", "\u2067", "\u2069", "\u061c", "abc", "12"))
        )
        parts.append(from_ranges(rng, [rng.pick(abc.RTL_RANGES)], 1, 6))
    return "".join(parts)


@category
def indic_and_other_scripts(rng: Source, specials: Sequence[str]) -> str:
    """Scripts whose words need marks inside: Devanagari to Myanmar, Tibetan, Khmer, Ethiopic, and others."""
    return " ".join([from_ranges(rng, [rng.pick(abc.OTHER_SCRIPT_RANGES)], 1, 12) for _ in range(rng.between(1, 5))])


@category
def latin_1(rng: Source, specials: Sequence[str]) -> str:
    """Noise from U+0080 to U+00FF with ASCII between."""
    first = rng.pick(abc.LATIN_1)
    return first + "".join(
        [rng.pick(abc.LATIN_1) if rng.chance(0.7) else rng.pick(abc.PRINTABLE_ASCII) for _ in range(rng.between(0, 40))]
    )


@category
def mojibake(rng: Source, specials: Sequence[str]) -> str:
    """UTF-8 of other scripts read as Latin-1, or spelled in the printable characters of byte-level vocabularies."""
    raw = (from_ranges(rng, abc.OTHER_SCRIPT_RANGES, 1, 8) + rng.pick(("", " ", "\n"))).encode()
    if rng.chance(0.5):
        return raw.decode("latin-1")
    return "".join(
        [rng.pick(abc.BYTE_LEVEL_STAND_INS) if rng.chance(0.6) else word(rng, 4) for _ in range(1 + rng.below(12))]
    )


@category
def mixed_scripts(rng: Source, specials: Sequence[str]) -> str:
    """Letters of several scripts inside one word."""
    pools = (abc.LOWER, abc.UPPER, abc.CYRILLIC, abc.GREEK_LOWER, abc.LATIN_1_LETTERS, abc.CJK, abc.KANA, abc.DIGITS)
    parts = []
    for _ in range(rng.between(2, 14)):
        parts.append(rng.text(rng.pick(pools), 1, 3))
        if rng.chance(0.2):
            parts.append(rng.pick((" ", "-", "\u00b7", "\u200b", "_")))
    return "".join(parts)


@category
def emoji(rng: Source, specials: Sequence[str]) -> str:
    """Emoji with joiners, skin tones, variation selectors, flags, keycaps and tags, whole and broken."""
    parts = [rng.pick(abc.EMOJI)]
    for _ in range(rng.between(1, 9)):
        which = rng.below(8)
        if which == 0:
            parts.append("\u200d" + rng.pick(abc.EMOJI))
        elif which == 1:
            parts.append(rng.pick(abc.SKIN_TONES))
        elif which == 2:
            parts.append(chr(rng.between(0x1F1E6, 0x1F1FF)) + chr(rng.between(0x1F1E6, 0x1F1FF)))
        elif which == 3:
            parts.append(rng.pick("0123456789#*") + rng.pick(("\ufe0f\u20e3", "\u20e3", "\ufe0f")))
        elif which == 4:
            parts.append(rng.pick(("\ufe0f", "\ufe0e", "\u200d", "\U000e0067\U000e0062\U000e007f")))
        elif which == 5:
            parts.append(rng.pick((" ", "", "ok", "!")))
        else:
            parts.append(rng.pick(abc.EMOJI))
    return "".join(parts)


@category
def emoji_zwj(rng: Source, specials: Sequence[str]) -> str:
    """Whole families: emoji joined by U+200D, with tones and selectors."""
    parts = []
    for _ in range(rng.between(1, 4)):
        members = [rng.pick(abc.EMOJI) + rng.pick(("", "\ufe0f", *abc.SKIN_TONES)) for _ in range(rng.between(2, 5))]
        parts.append("\u200d".join(members))
        parts.append(rng.pick(("", " ", "a", "\u200d", "!")))
    return "".join(parts)

"""Categories of words, white space, numbers, code, special tokens and lengths."""

from __future__ import annotations

from collections.abc import Sequence

from . import alphabets as abc
from .categories import CATEGORIES, any_code_point, cased, category, length, word, words
from .randomness import Source

LONGEST_RUN = 20_000
SEAM_LENGTHS = (15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 95, 96, 97, 127, 128, 129)
SEAM_TAILS = ("\u00e9", "'s", "\r\n", " x", "\u4e2d\u6587", "\U0001f600", "123", "...\n\n")
CODE_NAMES = ("self", "x", "i", "fooBar", "HTTPServer", "__init__", "kMax", "a_b", "std::vector", "Vec<u8>", "0xFF")
CODE_FORMS = (
    "{a} = {b}[{c}];",
    "def {a}({b}, *{c}):",
    "if ({a} != {b}) {{",
    "}}",
    "// {a}'s {b}",
    "#include <{a}.h>",
    "return {a}->{b}({c} + 1) / 2;",
    "\"{a}\\n\" + '{b}'",
    "@{a}.{b}",
    "for(int {a}=0;{a}<{b};++{a})",
    "",
    '{a}: &\'static str = b"{c}";',
    "/* {a}\t{b} */",
    "    ...",
    "${{{a}:-{b}}}",
    "{a} :: {b} -> {c}",
)
# fmt: off
MARKUP = (
    "https://a.example/p?q=1&r=%20#x", "C:\\Users\\n", "/usr/lib/x.so.6", "**bold**", "[t](u)", "</p>", "&amp;",
    "&#x27;", "\\u0041", "a@b.example", "1,234.56", "2024-01-31T23:59:59Z", "$x^2$", "~/.cache", "--flag=value",
    "%s%d\\t", "3.14e-10", "<br/>", "__all__", "50%", "C++", "#1", "# Title", "- item", "| a | b |", "```py\n", "===",
    "<div class='x'>", '{"k": [1, 2.5e-3, null]}', "\x1b[31m", "\u2014",
)
# fmt: on
# For vocabularies without special tokens: text that looks like a special token must stay text.
LIKE_SPECIALS = ("<|endoftext|>", "<s>", "</s>", "<pad>", "<mask>", "[CLS]")


# -- letters and words


@category
def prose(rng: Source, specials: Sequence[str]) -> str:
    """Words with ordinary punctuation."""
    parts = []
    for _ in range(rng.between(1, 25)):
        parts.append(cased(rng, word(rng)))
        parts.append(
            rng.pick((" ", " ", " ", " ", ", ", ". ", "; ", "? ", "! ", ": ", " - ", "... ", ' "', '" ', "\n"))
        )
    return "".join(parts)


@category
def tiny(rng: Source, specials: Sequence[str]) -> str:
    """At most two characters, also none."""
    n = rng.below(3)
    pool = (abc.PRINTABLE_ASCII, abc.WHITE_SPACE, abc.CONTROLS, abc.LATIN_1, abc.COMBINING, abc.NEWER_LETTERS)
    return "".join([rng.pick(rng.pick(pool)) if rng.chance(0.8) else any_code_point(rng) for _ in range(n)])


@category
def long_word(rng: Source, specials: Sequence[str]) -> str:
    """Up to thousands of letters without a break."""
    n = length(rng, 200, 4000, 0.03)
    alphabet = rng.pick((abc.FREQUENT_LETTERS, abc.LOWER, abc.LOWER + abc.UPPER, abc.LATIN_1_LETTERS, abc.CYRILLIC))
    return rng.pick(("", " ", "\n", "'")) + rng.text(alphabet, n, n)


@category
def mixed_case(rng: Source, specials: Sequence[str]) -> str:
    """Alternating upper, lower, title and modifier letters: patterns that split on case must cut between them."""
    pools = (abc.UPPER, abc.LOWER, abc.TITLE_AND_MODIFIER, abc.GREEK_UPPER, abc.GREEK_LOWER, abc.COMBINING, abc.CJK)
    parts = []
    for _ in range(rng.between(2, 12)):
        parts.append(rng.text(rng.pick(pools), 1, 4))
        if rng.chance(0.2):
            parts.append(rng.pick((" ", "'s", "'S", "_", "-", "1", "\u2019ll")))
    return "".join(parts)


@category
def contractions(rng: Source, specials: Sequence[str]) -> str:
    """The contractions 's 't 're 've 'm 'll 'd in both cases, and similar strings, among other characters."""
    parts = []
    for _ in range(rng.between(1, 8)):
        parts.append(rng.pick(("", cased(rng, word(rng, 5)), "1", " ", "'", "\n", "\u00e9", "!")))
        parts.append("'" + cased(rng, rng.pick(abc.CONTRACTIONS)))
        parts.append(rng.pick(("", " ", "a", "S", "s", "'", "9", ".", "\u0301")))
    return "".join(parts)


@category
def contractions_unicode(rng: Source, specials: Sequence[str]) -> str:
    """Contractions with U+2019 and other apostrophes, and with letters that fold to ASCII (U+017F, U+212A)."""
    parts = []
    for _ in range(rng.between(1, 8)):
        parts.append(rng.pick(("", word(rng, 5), " ", "\u017f", "I")))
        tail = cased(rng, rng.pick(abc.CONTRACTIONS))
        odd_quote = rng.chance(0.6)
        mark = rng.pick(abc.APOSTROPHES) if odd_quote else "'"
        if not odd_quote or rng.chance(0.3):
            tail = rng.pick(
                ("\u017f", "\u017fs", "\u1e9e", "\u00df", "L\u017f", "\u212a", "\ufb05", "\ufb06", "v\u00e9")
            )
        parts.append(mark + tail + rng.pick(("", "", " ", "a", "\u2019")))
    return "".join(parts)


@category
def case_folding(rng: Source, specials: Sequence[str]) -> str:
    """Characters whose case mapping is longer, conditional, or crosses scripts."""
    return " ".join([rng.text(abc.FOLDING + abc.LOWER[:4], 1, 5) for _ in range(rng.between(1, 6))])


# -- white space and line breaks


@category
def white_space(rng: Source, specials: Sequence[str]) -> str:
    """White space, and characters that only some engines count as white space, singly and in runs between words."""
    parts = []
    for _ in range(rng.between(1, 10)):
        if rng.chance(0.5):
            parts.append(rng.pick(abc.WHITE_SPACE) * rng.between(1, 5))
        else:
            parts.append(rng.text(abc.WHITE_SPACE, 1, 5))
        parts.append(rng.pick(("", "", "a", "Word", "7", "!", "'s", "\u4e2d", "\u0301")))
    return "".join(parts)


@category
def line_breaks(rng: Source, specials: Sequence[str]) -> str:
    r"""\r, \n, \r\n and the Unicode line ends, mixed with spaces, words and punctuation."""
    pieces = ("\r", "\n", "\r\n", "\n\r", "\n\n", " \n", "\n ", "\t\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")
    others = (" ", "  ", "\t", "a", "Bc", "12", ".", "!\n", ")/", "...", "\u3000")
    start = rng.pick(pieces)
    return start + "".join([rng.pick(pieces if rng.chance(0.6) else others) for _ in range(rng.between(0, 14))])


@category
def indentation(rng: Source, specials: Sequence[str]) -> str:
    """Lines indented with spaces and tabs, with trailing blanks."""
    lines = []
    for _ in range(rng.between(1, 8)):
        blank = rng.pick((" ", "  ", "    ", "\t", "\t\t", " \t", "\t "))
        tail = rng.pick(("", "", " ", "    ", "\t"))
        lines.append(blank * rng.between(1, 12) + rng.pick(("", "x", "return", "}", "# note", "-1")) + tail)
    return rng.pick(("\n", "\r\n")).join(lines)


# -- numbers


@category
def digits(rng: Source, specials: Sequence[str]) -> str:
    """Runs of ASCII digits of every length, with separators."""
    parts = []
    for _ in range(rng.between(1, 8)):
        parts.append(rng.text(abc.DIGITS, 1, 400 if rng.chance(0.02) else 12))
        parts.append(rng.pick(("", " ", ",", ".", "-", "e", "x", "%", "\n", ":", "/", "th")))
    return "".join(parts)


@category
def digits_scripts(rng: Source, specials: Sequence[str]) -> str:
    """Digits of several scripts, superscripts, fractions, circled and Roman numerals, mixed in one run."""
    parts = []
    for _ in range(rng.between(1, 8)):
        zero = rng.pick(abc.DIGIT_ZEROS)
        parts.append("".join([chr(zero + rng.below(10)) for _ in range(rng.between(1, 5))]))
        if rng.chance(0.4):
            parts.append(rng.text(abc.OTHER_NUMBERS, 1, 4))
        parts.append(rng.pick(("", "", " ", "1", "234", "a", ".")))
    return "".join(parts)


# -- punctuation, code and markup


@category
def punctuation(rng: Source, specials: Sequence[str]) -> str:
    """Runs of punctuation and symbols, ASCII and not, followed by line breaks and slashes."""
    parts = []
    for _ in range(rng.between(1, 8)):
        parts.append(rng.pick(("", " ", "  ")))
        parts.append(rng.text(rng.pick((abc.ASCII_PUNCTUATION, abc.OTHER_PUNCTUATION)), 1, 8))
        parts.append(rng.pick(("", "a", "\n", "\r\n", "/", "\n/", "/\n", "1", " ")))
    return "".join(parts)


@category
def code(rng: Source, specials: Sequence[str]) -> str:
    """Lines that look like source code."""
    lines = []
    for _ in range(rng.between(1, 8)):
        a, b, c = rng.pick(CODE_NAMES), rng.pick(CODE_NAMES), rng.pick(CODE_NAMES)
        form = rng.pick(CODE_FORMS)
        lines.append(rng.pick(("", "  ", "    ", "\t", "        ")) + form.format(a=a, b=b, c=c))
    return rng.pick(("\n", "\n", "\r\n")).join(lines)


@category
def markup(rng: Source, specials: Sequence[str]) -> str:
    """Addresses, paths, Markdown, HTML, JSON and escapes."""
    return "".join([rng.pick(MARKUP) + rng.pick((" ", "\n", "", "\n\n", "  ")) for _ in range(rng.between(1, 10))])


# -- special tokens


@category
def specials_inside(rng: Source, specials: Sequence[str]) -> str:
    """Special tokens in text: adjacent, doubled, surrounded by white space, inside words."""
    pool = specials or LIKE_SPECIALS
    parts = [rng.pick(pool)]
    for _ in range(rng.between(0, 6)):
        if rng.chance(0.5):
            parts.append(rng.pick(pool))
        parts.append(
            rng.pick(("", "", " ", "  ", "\n", "\t", "\u00a0", "a", "word ", " word", "1", "'s", "\u0301", "\x00"))
        )
    at = rng.below(len(parts) + 1)
    return "".join([*parts[at:], words(rng, 0, 2), *parts[:at]])


@category
def specials_partial(rng: Source, specials: Sequence[str]) -> str:
    """Special tokens cut short, overlapping, in another case, with a character removed or inserted."""
    pool = specials or LIKE_SPECIALS
    parts = []
    for _ in range(rng.between(1, 5)):
        token = rng.pick(pool)
        cut = rng.between(0, len(token))
        which = rng.below(6)
        if which == 0:
            parts.append(token[:cut])
        elif which == 1:
            parts.append(token[cut:])
        elif which == 2:
            parts.append(token[:cut] + token)
        elif which == 3:
            parts.append(token[:cut] + rng.pick((" ", "x", "\u200b", "|", "<", "")) + token[cut:])
        elif which == 4:
            parts.append(abc.ascii_upper(token))
        else:
            parts.append(token[:-1] + rng.pick(pool) + token[-1:])
        parts.append(rng.pick(("", "", " ", "a", "\n")))
    return "".join(parts)


# -- lengths


@category
def run(rng: Source, specials: Sequence[str]) -> str:
    """One character many times over, rarely up to 20,000 times."""
    pool = rng.pick((abc.RUNNING, abc.RUNNING, abc.PRINTABLE_ASCII, abc.WHITE_SPACE))
    ch = rng.pick(pool) if rng.chance(0.9) else any_code_point(rng)
    n = length(rng, 300, LONGEST_RUN, 0.02)
    return rng.pick(("", "", "a", " ", "\n")) + ch * n + rng.pick(("", "", "a", " ", "\n", "\u0301"))


@category
def run_of_pieces(rng: Source, specials: Sequence[str]) -> str:
    """A short piece many times over."""
    unit = rng.text(abc.RUNNING, 2, 4) if rng.chance(0.6) else word(rng, 5) + rng.pick(("", " ", "\n", "-"))
    return unit * length(rng, 60, 2000, 0.02)


@category
def seam(rng: Source, specials: Sequence[str]) -> str:
    """Texts that end, or have a word that ends, after 15 to 129 bytes of UTF-8: near boundaries of SIMD blocks."""
    size = rng.pick(SEAM_LENGTHS)
    wide = rng.pick((abc.LATIN_1_LETTERS, abc.CJK, abc.EMOJI_SINGLE, abc.COMBINING, abc.WHITE_SPACE, abc.CYRILLIC))
    density = rng.pick((0.0, 0.02, 0.1, 0.5))
    parts: list[str] = []
    left = size
    while left:
        ch = rng.pick(wide) if rng.chance(density) else rng.pick(abc.SEAM_ASCII)
        width = len(ch.encode())
        if width <= left:
            parts.append(ch)
            left -= width
    if rng.chance(0.5):  # the same bytes, continued past the boundary
        return "".join(parts) + rng.pick(SEAM_TAILS)
    return "".join(parts)


@category
def mixture(rng: Source, specials: Sequence[str]) -> str:
    """Several categories, one after the other."""
    names = [name for name in CATEGORIES if name not in ("mixture", "surrogates")]
    parts = [CATEGORIES[rng.pick(names)](rng, specials)[:200] for _ in range(rng.between(2, 5))]
    return rng.pick(("", " ", "\n", "\n\n", "a")).join(parts)

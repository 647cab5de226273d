"""The generator of hostile strings: the same everywhere, and every category holds what its name says."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from crayon_hf.parity.inputs import alphabets
from crayon_hf.parity.inputs.categories_text import CODE_FORMS, LONGEST_RUN, MARKUP, SEAM_LENGTHS, SEAM_TAILS
from crayon_hf.parity.inputs.strings import CATEGORIES, generate

SPECIALS = ("<|endoftext|>", "<|im_start|>", "   ")


def digest(texts: list[tuple[str, str]]) -> str:
    joined = "\x01".join(f"{category}\x02{text}" for category, text in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def of(category: str, n: int = 400, specials: tuple[str, ...] = SPECIALS) -> list[str]:
    return [text for _, text in generate(n, 7, [category], specials)]


# -- the same everywhere


def test_one_seed_gives_one_sequence() -> None:
    assert list(generate(500, 3, specials=SPECIALS)) == list(generate(500, 3, specials=SPECIALS))


def test_another_seed_gives_another_sequence() -> None:
    assert digest(list(generate(500, 3))) != digest(list(generate(500, 4)))


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_processes_agree_whatever_their_hash_seed(hash_seed: str) -> None:
    program = (
        "import hashlib; from crayon_hf.parity.inputs.strings import generate\n"
        "joined = '\\x01'.join(f'{c}\\x02{t}' for c, t in generate(800, 5, specials=('<s>', '</s>')))\n"
        "print(hashlib.sha256(joined.encode('utf-8', 'surrogatepass')).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(list(generate(800, 5, specials=("<s>", "</s>"))))


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("prose", "148112801eed9831"),
        ("white_space", "491f4848c0bf1f52"),
        ("run", "b38c361280fd4880"),
        ("surrogates", "5c46a054fa7fab78"),
        ("seam", "92563805c6b97cba"),
        ("specials_partial", "190e35bbbe29d878"),
    ],
)
def test_python_versions_agree(category: str, expected: str) -> None:
    """The digests were made once; any Python that makes other strings fails here, and so does an edited category."""
    assert digest([(category, text) for text in of(category, 200)])[:16] == expected


def test_a_string_does_not_depend_on_its_neighbours() -> None:
    alone = of("rtl", 20)
    among = [text for category, text in generate(20 * 3, 7, ["tiny", "rtl", "code"], SPECIALS) if category == "rtl"]
    assert among == alone
    assert of("rtl", 5) == alone[:5]


def test_every_category_occurs_equally() -> None:
    seen = [category for category, _ in generate(len(CATEGORIES) * 3, 1)]
    assert seen == list(CATEGORIES) * 3


def test_an_unknown_category_is_refused() -> None:
    with pytest.raises(ValueError, match="no category named 'nonsense'"):
        list(generate(1, 1, ["nonsense"]))


# -- each category holds what it says


def some(text: str, points: str) -> bool:
    return not set(text).isdisjoint(points)


def in_ranges(text: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(ch) <= last for ch in text for first, last in ranges)


APOSTROPHE = re.compile("['" + "".join(alphabets.APOSTROPHES) + "]")
JAMO = ((0x1100, 0x11FF), (0xA960, 0xA97F), (0xD7B0, 0xD7FF))
NUMBERS = tuple((zero, zero + 9) for zero in alphabets.DIGIT_ZEROS)
CODE_SHAPES = "|".join(
    re.escape(form.format(a="NAME", b="NAME", c="NAME")).replace("NAME", ".+") for form in CODE_FORMS
)
CODE_LINE = re.compile(rf"\s*(?:{CODE_SHAPES})")

# Category: what every one of its strings must be.
ALWAYS: dict[str, Callable[[str], bool]] = {
    "prose": lambda text: some(text.lower(), alphabets.LOWER) or some(text, "\u043f\u03ba\u4f60\u3053\uc548"),
    "tiny": lambda text: len(text) <= 2,
    "long_word": lambda text: len(text) >= 1 and not some(text[1:], " \n\t0123456789"),
    "mixed_case": lambda text: len(text) >= 2,
    "contractions": lambda text: "'" in text,
    "contractions_unicode": lambda text: APOSTROPHE.search(text) is not None,
    "case_folding": lambda text: some(text, alphabets.FOLDING + alphabets.LOWER[:4]),
    "white_space": lambda text: some(text, alphabets.WHITE_SPACE),
    "line_breaks": lambda text: some(text, "\r\n\x0b\x0c\x85\u2028\u2029"),
    "indentation": lambda text: text[0] in " \t",
    "controls": lambda text: some(text, alphabets.CONTROLS),
    "nul": lambda text: "\x00" in text,
    "unassigned": lambda text: in_ranges(text, alphabets.UNASSIGNED),
    "private_use": lambda text: in_ranges(text, alphabets.PRIVATE_USE),
    "noncharacters": lambda text: some(text, "".join(alphabets.NONCHARACTERS)),
    "surrogates": lambda text: in_ranges(text, ((0xD800, 0xDFFF),)),
    "all_code_points": lambda text: 1 <= len(text) <= 40,
    "basic_plane": lambda text: all(" " <= ch < "\ud800" for ch in text) and len(text) >= 1,
    "newer_code_points": lambda text: in_ranges(text, alphabets.NEWER),
    "digits": lambda text: some(text, alphabets.DIGITS),
    "digits_scripts": lambda text: in_ranges(text, NUMBERS),
    "combining": lambda text: some(text, alphabets.COMBINING),
    "normalization": lambda text: any(form in text for form in alphabets.NORMALIZING),
    "hangul_jamo": lambda text: in_ranges(text, JAMO),
    "cjk": lambda text: in_ranges(text, alphabets.CJK_RANGES),
    "rtl": lambda text: in_ranges(text, alphabets.RTL_RANGES),
    "indic_and_other_scripts": lambda text: in_ranges(text, alphabets.OTHER_SCRIPT_RANGES),
    "latin_1": lambda text: some(text, alphabets.LATIN_1) and max(text) <= "\xff",
    "mojibake": lambda text: text != "" and (max(text) <= "\xff" or some(text, alphabets.BYTE_LEVEL_STAND_INS)),
    "mixed_scripts": lambda text: len(text) >= 2,
    "emoji": lambda text: some(text, alphabets.EMOJI),
    "emoji_zwj": lambda text: "\u200d" in text and some(text, alphabets.EMOJI),
    "punctuation": lambda text: some(text, alphabets.ASCII_PUNCTUATION + alphabets.OTHER_PUNCTUATION),
    "code": lambda text: all(map(CODE_LINE.fullmatch, re.split("\r?\n", text))),
    "markup": lambda text: any(piece in text for piece in MARKUP),
    "specials_inside": lambda text: any(token in text for token in SPECIALS),
    "specials_partial": lambda text: text.strip("\na") == "" or some(text.lower(), "".join(SPECIALS)),
    "run": lambda text: len(set(text)) <= 3,
    "run_of_pieces": lambda text: text == "" or any(text == text[:n] * (len(text) // n) for n in range(1, 40)),
    "seam": lambda text: any(
        text.endswith(tail) and len(text.encode()) - len(tail.encode()) in SEAM_LENGTHS for tail in ("", *SEAM_TAILS)
    ),
    "mixture": lambda text: not in_ranges(text, ((0xD800, 0xDFFF),)),
}

# Category: what must occur among 400 of its strings, each as a name and a test.
SOMETIMES: dict[str, dict[str, Callable[[str], bool]]] = {
    "tiny": {"empty": lambda text: text == "", "two": lambda text: len(text) == 2},
    "prose": {"sentence": lambda text: ". " in text and len(text) > 60},
    "long_word": {"thousands": lambda text: len(text) > 1000, "after a space": lambda text: text[0] == " "},
    "mixed_case": {
        "lower before upper": lambda text: re.search("[a-z][A-Z]", text) is not None,
        "title case": lambda text: some(text, "\u01c5\u01c8\u01f2"),
        "modifier": lambda text: "\u02b0" in text,
    },
    "contractions": {
        form: lambda text, form=form: form in text  # type: ignore[misc]
        for form in (
            "'s",
            "'S",
            "'t",
            "'T",
            "'re",
            "'RE",
            "'Re",
            "'ve",
            "'VE",
            "'m",
            "'M",
            "'ll",
            "'LL",
            "'lL",
            "'d",
            "'D",
        )
    },
    "contractions_unicode": {
        "U+2019": lambda text: re.search("\u2019(s|t|re|ve|m|ll|d)", text, re.IGNORECASE) is not None,
        "U+017F": lambda text: "'\u017f" in text,
        "U+212A": lambda text: "'\u212a" in text,
    },
    "white_space": {f"U+{ord(ch):04X}": lambda text, ch=ch: ch in text for ch in alphabets.WHITE_SPACE},  # type: ignore[misc]
    "line_breaks": {
        "\\r\\n": lambda text: "\r\n" in text,
        "\\n\\r": lambda text: "\n\r" in text,
        "\\r alone": lambda text: re.search("\r(?!\n)", text) is not None,
        "\\r\\n\\r\\n": lambda text: "\r\n\r\n" in text,
    },
    "indentation": {"tabs": lambda text: "\t\t\t" in text, "spaces": lambda text: " " * 9 in text},
    "controls": {
        "DEL": lambda text: "\x7f" in text,
        "C1": lambda text: "\x80" in text,
        "NUL": lambda text: "\x00" in text,
    },
    "nul": {"run": lambda text: "\x00\x00\x00" in text, "at the start": lambda text: text[0] == "\x00"},
    "private_use": {
        "plane 0": lambda text: in_ranges(text, ((0xE000, 0xF8FF),)),
        "plane 16": lambda text: max(text) > "\U00100000",
    },
    "surrogates": {
        "high": lambda text: re.search("[\ud800-\udbff](?![\udc00-\udfff])", text) is not None,
        "low": lambda text: re.search("(?<![\ud800-\udbff])[\udc00-\udfff]", text) is not None,
        "pair": lambda text: re.search("[\ud800-\udbff][\udc00-\udfff]", text) is not None,
        "with a special token": lambda text: any(token in text for token in SPECIALS),
    },
    "newer_code_points": {
        "10": lambda text: in_ranges(text, ((0x1C90, 0x1CBA), (0x860, 0x86A))),
        "13": lambda text: in_ranges(text, ((0x30000, 0x300FF),)),
        "15": lambda text: in_ranges(text, ((0x31350, 0x31400),)),
        "16": lambda text: in_ranges(text, ((0x10D40, 0x10D65),)),
        "17": lambda text: in_ranges(text, ((0x323B0, 0x32400),)),
    },
    "digits": {"long run": lambda text: re.search("[0-9]{100}", text) is not None},
    "digits_scripts": {
        "mixed": lambda text: re.search("[0-9][\u0660-\u0669]|[\u0660-\u0669][0-9]", text) is not None,
        "superscript": lambda text: some(text, "\xb2\xb3\xb9"),
        "Roman": lambda text: some(text, "\u2160\u2164"),
        "full width": lambda text: in_ranges(text, ((0xFF10, 0xFF19),)),
    },
    "combining": {
        "stack": lambda text: re.search("[\u0300-\u036f]{6}", text) is not None,
        "first": lambda text: text[0] in alphabets.COMBINING,
        "after a space": lambda text: re.search(" [\u0300-\u036f]", text) is not None,
    },
    "normalization": {
        form: lambda text, form=form: form in text  # type: ignore[misc]
        for form in ("e\u0301", "\u0958", "\u212b", "\uf900", "\ufb1d", "\U0001d15e", "\u0344")
    },
    "hangul_jamo": {
        "syllable and trailing": lambda text: re.search("[\uac00-\ud7a3][\u11a8-\u11c2]", text) is not None,
        "whole": lambda text: re.search("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]", text) is not None,
    },
    "rtl": {
        "Hebrew": lambda text: in_ranges(text, ((0x5D0, 0x5EA),)),
        "Arabic": lambda text: in_ranges(text, ((0x621, 0x64A),)),
        "control": lambda text: some(text, "\u200f\u200e\u202b\u2067"),
    },
    "emoji": {
        "joined": lambda text: "\u200d" in text,
        "skin tone": lambda text: some(text, "".join(alphabets.SKIN_TONES)),
        "flag": lambda text: in_ranges(text, ((0x1F1E6, 0x1F1FF),)),
        "keycap": lambda text: "\ufe0f\u20e3" in text,
    },
    "punctuation": {"slash after": lambda text: re.search("[!?.]/", text) is not None},
    "code": {"indented": lambda text: text.startswith("    "), "escape": lambda text: "\\n" in text},
    "specials_inside": {
        "adjacent": lambda text: any(a + b in text for a in SPECIALS[:2] for b in SPECIALS[:2]),
        "space before": lambda text: f" {SPECIALS[0]}" in text,
        "space after": lambda text: f"{SPECIALS[0]} " in text,
        "inside a word": lambda text: f"a{SPECIALS[0]}" in text,
    },
    "specials_partial": {
        "cut": lambda text: "<|endof" in text and SPECIALS[0] not in text,
        "upper case": lambda text: "<|ENDOFTEXT|>" in text,
    },
    "run": {"long": lambda text: len(text) > 1000, "wide": lambda text: len(text.encode()) > 2 * len(text) > 100},
    "run_of_pieces": {"long": lambda text: len(text) > 1000},
    "all_code_points": {
        "plane 0": lambda text: min(text) < "\ud800",
        "plane 16": lambda text: max(text) > "\U00100000",
    },
    "mojibake": {
        "UTF-8 as Latin-1": lambda text: re.search("[\xe0-\xef][\x80-\xbf][\x80-\xbf]", text) is not None,
        "a space as a letter": lambda text: "\u0120" in text,
    },
    "mixed_scripts": {
        "Latin in Cyrillic": lambda text: re.search("[\u0410-\u044f][a-z]+[\u0410-\u044f]", text) is not None
    },
    "mixture": {
        "digits and marks": lambda text: some(text, alphabets.DIGITS) and some(text, alphabets.COMBINING),
        "emoji and controls": lambda text: some(text, alphabets.EMOJI) and some(text, alphabets.CONTROLS),
        "a special token among other things": lambda text: SPECIALS[0] in text and len(text) > 60,
    },
    "seam": {
        f"{size} bytes": lambda text, size=size: len(text.encode()) == size  # type: ignore[misc]
        for size in (31, 32, 33, 63, 64, 65)
    },
}


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_holds_what_it_says(category: str) -> None:
    texts = of(category)
    wrong = [text for text in texts if not ALWAYS[category](text)]
    assert not wrong, ascii(wrong[0])
    missing = [name for name, occurs in SOMETIMES.get(category, {}).items() if not any(map(occurs, texts))]
    assert not missing
    assert len(set(texts)) > (30 if category == "tiny" else 100)


def test_only_surrogates_are_not_utf_8() -> None:
    for category in CATEGORIES:
        if category != "surrogates":
            "".join(of(category, 100)).encode()


def test_long_runs_are_long_and_rare() -> None:
    texts = of("run", 2400)
    assert 15_000 < max(map(len, texts)) <= LONGEST_RUN + 2
    assert sum(map(len, texts)) / len(texts) < 600
    every = [text for _, text in generate(len(CATEGORIES) * 50, 1)]
    assert sum(map(len, every)) / len(every) < 150  # or 100,000 strings take the reference hours


def test_without_special_tokens_there_are_strings_like_them() -> None:
    assert any("<|endoftext|>" in text for text in of("specials_inside", 100, ()))

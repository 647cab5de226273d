"""Code points for the generator of hostile strings, written out so that they depend on no Unicode database.

Everything is in hexadecimal: ``41-5A`` is a range, ``65+301`` is one text of two code points.
"""

from __future__ import annotations


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    pairs = [item.partition("-") for item in text.split()]
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in pairs)


def _chars(text: str) -> str:
    return "".join(chr(code) for first, last in _ranges(text) for code in range(first, last + 1))


def _texts(text: str) -> tuple[str, ...]:
    return tuple("".join(chr(int(code, 16)) for code in item.split("+")) for item in text.split())


def ascii_upper(text: str) -> str:
    """Upper case of ASCII letters only, independent of Python's Unicode version."""
    return "".join([chr(ord(ch) - 32) if "a" <= ch <= "z" else ch for ch in text])


LOWER = _chars("61-7A")
UPPER = _chars("41-5A")
DIGITS = "0123456789"
PRINTABLE_ASCII = _chars("20-7E")
ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# Roughly by frequency in English.
FREQUENT_LETTERS = "e" * 12 + "t" * 9 + "ao" * 8 + "ins" * 7 + "hr" * 6 + "dl" * 4 + "cumwfgypb" * 2 + "vkjxqz"
# fmt: off
WORDS = (
    "the", "of", "and", "that", "which", "have", "would", "there", "because", "information", "international", "through",
    "function", "return", "string", "import", "configuration", "implementation", "token", "encoding", "text", "self",
    "un", "re", "ing", "ation", "ness", "able", "don", "we", "they", "it", "let", "Paris", "January", "HTTP", "API",
    "der", "nicht", "und", "est", "les", "para", "del", "que", "\u00fcber", "fran\u00e7ais", "ma\u00f1ana",
    "Antidisestablishmentarianism", "Donaudampfschifffahrtsgesellschaft", "supercalifragilistic",
    *_texts("43F+440+438+432+435+442 3BA+3B1+3BB+3B7+3BC+3AD+3C1+3B1 4F60+597D 3053+3093+306B+3061+306F C548+B155"),
)
# fmt: on
SEAM_ASCII = LOWER + UPPER[:8] + DIGITS + "      \n\t'.,;(){}/-_="

CONTRACTIONS = ("s", "t", "re", "ve", "m", "ll", "d", "r", "v", "l", "re've", "x", "")
APOSTROPHES = _texts("2019 2018 2BC FF07 60 B4 2032 27+27 2B9 55A")

# White_Space, then characters that some engines count as such: U+001C to U+001F, U+180E, U+200B, U+2060, U+FEFF, ...
WHITE_SPACE = _chars(
    """
    9-D 20 85 A0 1680 2000-200A 2028 2029 202F 205F 3000 1C-1F 180E 200B-200D 2060 FEFF 2800 3164 AD
    """
)
CONTROLS = _chars(
    """
    0-1F 7F-9F AD 34F 61C 115F 17B4 180B 180E 200B 200E 200F 202A 202E 2060 2066 206F FE00 FEFF FFF9 FFFC 1D173
    E0001 E0100
    """
)

LATIN_1 = _chars("80-FF")
LATIN_1_LETTERS = _chars("C0-D6 D8-F6 F8-FF")
CYRILLIC = _chars("410-44F")
GREEK_UPPER = _chars("391-3A1")
GREEK_LOWER = _chars("3B1-3C9")
KANA = _chars("3042-3093 30A2-30F3")
CJK = _chars("4E00-4E7F 7684 662F 4E0D 6211 6709 4EBA 5728 4ED6 8FD9 4E2D 5927 6765 4E0A 56FD 20000 F900")
TITLE_AND_MODIFIER = _chars("1C5 1C8 1F2 1F88 1FFC 2B0 2BC 2E4 1D2C 1D78 2071 207F A770 FF9E 294 1BB AA BA")
FOLDING = _chars(
    """
    17F 212A 212B 130 131 DF 1E9E FB00 FB05 149 1F0 390 1F80 1FBC 3C2 3A3 1C4 1C5 10A0 10D0 1C90 13A0 AB70 24B6 FF21
    10400 1E900 2C2F A64A 1C88
    """
)

# Zeros of decimal scripts: ASCII, Arabic, Persian, N'Ko, Devanagari, Thai, full width, mathematical, Adlam, ...
DIGIT_ZEROS = tuple(map(ord, _chars("30 660 6F0 7C0 966 9E6 BE6 E50 F20 1040 17E0 FF10 1D7CE 1E950 1FBF0")))
OTHER_NUMBERS = _chars(
    """
    B2 B3 B9 BC-BE 2070 2074 2080 2150 2160 2164 217B 2180 2460 24FF 3007 3021 3192 3220 3280 9F4 BF0 1369 10107
    1F100 12400 4E00 58F9
    """
)
COMBINING = _chars(
    """
    300-36F 483 591 5B0 5BC 64B 651 670 93C 94D 9BC B56 BD7 C4D E31 E38 F71 F72 1037 1DC0 1AB0 20D0 20DD 302A 3099
    309A A66F FE20 1D165 1D16D 1E000 903 93E DCF 102B
    """
)
BASES = (*"aeEouncA", *_chars("E9 430 915 5D0 628 304B 4E2D"), " ", "1", "!", "\n", "'", "", "")

# Texts that NFC, NFD, NFKC or NFKD changes, and texts that they must leave unchanged.
NORMALIZING = _texts(
    """
    65+301 E9 1EBF 61+323+302 61+302+323 212B 2126 212A 958 915+93C 9DC FB1D FB2A 5E9+5C1 1D15E 1D1BB F900 FA30
    2F800 2ADC 1E9B+323 FB01 BD 2460 FF21 FF76+FF9E 30AB+3099 304B+3099 3131 1100+1161+11A8 AC00+11A8 344 340 374
    37E 387 1FEE 2000 2329 3371 FDFA F77 F73 CCA CC6+CC2 B94 DDA+DCF 1026 11131+11127 114B9+114BA 11935+11930
    308+301 1B06 105D2+307 11383+113C9 1611E+1611F
    """
)

CJK_RANGES = _ranges(
    """
    4E00-9FFF 4E00-5FFF 3041-3096 30A1-30FF AC00-D7A3 3400-4DBF 20000-2A6DF FF01-FF5E FF61-FF9F 3001-303F 3100-312F
    F900-FA6D
    """
)
RTL_RANGES = _ranges(
    """
    5D0-5EA 591-5C7 621-64A 640-652 671-6D3 710-74A 7CA-7EA FB1D-FB4F FB50-FDCF FE70-FEFC 10800-10855 1E900-1E943
    8A0-8FF
    """
)
OTHER_SCRIPT_RANGES = _ranges(
    """
    900-97F 980-9FF A00-A7F A80-AFF B80-BFF C00-C7F C80-CFF D00-D7F D80-DFF E01-E5B E81-EDD F00-FDA 1000-109F
    10A0-10FF 1200-137F 13A0-13FF 1400-167F 1780-17DD 1820-1878 1B00-1B4C 2C00-2C5F 2D30-2D67 370-3FF 400-52F
    531-58A 100-24F 250-2AF 1E00-1EFF 1F00-1FFF 10000-100FA 1D400-1D7FF A000-A48C 1900-194F 2E80-2FD5 12000-12399
    """
)

EMOJI_SINGLE = _chars(
    """
    1F600 1F602 1F468 1F469 1F467 1F3FD 1F4BB 1F680 1F308 1F9D1 1F91D 1F525 1F1E9 1FAE8 1F6DC
    """
)
EMOJI = EMOJI_SINGLE + _chars("2764 2640 2642 2708 263A 231A A9 3030 2620 2695")
SKIN_TONES = _texts("1F3FB 1F3FC 1F3FD 1F3FE 1F3FF")
OTHER_PUNCTUATION = _chars(
    """
    A1 AB BB BF A7 B6 2010 2013 2014 2018 2019 201C 201D 2026 2030 203D 20AC 2190 2200 221E 2500 25A0 2605 3001 3002
    300C 300D FF01 FF0C 5BE 60C 964 16EB 2E2E 2E5D 2CF9 D7 F7 B0 B1 2C6 2DC FE50 A8
    """
)

# The printable characters that byte-level vocabularies write for bytes: as text they are ordinary letters.
BYTE_LEVEL_STAND_INS = _chars("100-143 120 120 120 10A 109 A1-AC C2-F4 2581")
RUNNING = _chars(
    """
    61 41 65 7A 30 20 31 39 A 9 2E 2D 3D 5F 2A 23 21 2F 27 22 5C 2C 28 29 3C 7C D 0 7F E9 A0 301 327 4E2D 3042 AC00
    1100 200D 200B FFFD FEFF 3000 430 5D0 E01 93F 1F600 1F3FD 20000 17F 2019 B2 2028 85 1680
    """
)

NONCHARACTERS = _texts("FFFE FFFF FDD0 FDEF 1FFFE 1FFFF 5FFFE 10FFFF 10FFFE EFFFF")
PRIVATE_USE = _ranges("E000-F8FF F0000-FFFFD 100000-10FFFD E000-E003 F8FF")
# No Unicode version up to 17 assigns these.
UNASSIGNED = _ranges(
    """
    378-379 530 557-558 5C8-5CF 9FF-A00 A80 1716-171E 2065 242A-243F 2FE0-2FEF FFC9 1FFF 1C8B-1C8F 40000-4FFFD
    70000-7FFFD D0000-DFFFD E0002-E001F E01F0-EFFFD
    """
)
# Assigned after Unicode 9; one line for each of 10, 11, 12, 13, 14, 15, 15.1, 16 and 17 (12 with 12.1).
NEWER = _ranges(
    """
    860-86A 11A00-11A3E 11D00-11D06 2CEB0-2CEFF 1F928-1F92F 20BF
    1C90-1CBA 10D00-10D27 10D30-10D39 16E40-16E7F 1F94D-1F94F
    E86-E89 1E2C0-1E2F9 1E100-1E12C 1FA70-1FA73 32FF
    30000-300FF 18B00-18B20 10E80-10EA9 11900-11906 1FBF0-1FBF9 8BE-8C7
    1DF00-1DF1E 10570-1057A 12F90-12FF0 1E290-1E2AE 1FAE0-1FAE7 16AC0-16AC9
    1E030-1E06D 11F04-11F10 11F50-11F59 31350-31400 1E4D0-1E4F9 1FAE8
    2EBF0-2ED00 2FFC-2FFF
    10D40-10D65 11380-11389 16100-16139 1E5D0-1E5FA A7CB-A7CD 1C89-1C8A 1CCF0-1CCF9
    16EA0-16EB8 1E6C0-1E6DE 323B0-32400 11DE0-11DE9 10940-10959 A7CE-A7D0
    """
)
NEWER_LETTERS = _chars("860 1C90 10D00 30000 1DF00 1E030 10D4A 16EA0 1C89 A7CB")

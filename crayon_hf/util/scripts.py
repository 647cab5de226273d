"""Finds the Unicode script of each character, in the tables of our regular expressions, and counts scripts."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from crayon_hf._core import property_ranges

COMMON, INHERITED, UNKNOWN = "Common", "Inherited", "Unknown"
# prose: long sentence
_NAMES = """\
Latin Han Cyrillic Arabic Hiragana Katakana Hangul Greek Hebrew Devanagari Thai Bengali Tamil Telugu Adlam Ahom
Anatolian_Hieroglyphs Armenian Avestan Balinese Bamum Bassa_Vah Batak Bhaiksuki Bopomofo Brahmi Braille Buginese
Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic Cuneiform Cypriot
Cypro_Minoan Deseret Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian
Glagolitic Gothic Grantha Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema Hanifi_Rohingya Hanunoo Hatran
Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Kawi Kayah_Li Kharoshthi
Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani
Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive
Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko
Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic
Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene
Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le
Tai_Tham Tai_Viet Takri Tangsa Tangut Thaana Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Vai
Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
"""
SCRIPTS = tuple(_NAMES.split())
"""Scripts with letters of their own, the most frequent first. Digits, punctuation and spaces are `COMMON`."""
NAMES = (UNKNOWN, COMMON, INHERITED, *SCRIPTS)
"""All scripts; `of_code_points` returns indices of this tuple."""
CODE_POINTS = 0x110000


@cache
def of_code_points() -> npt.NDArray[np.uint8]:
    """Return the script of each code point, as an index of `NAMES`.

    >>> NAMES[of_code_points()[ord("a")]], NAMES[of_code_points()[ord(".")]]
    ('Latin', 'Common')
    """
    found = np.zeros(CODE_POINTS, np.uint8)
    for place, name in enumerate(NAMES[1:], 1):
        for first, last in property_ranges(name.replace("_", "").lower()):
            found[first : last + 1] = place
    found.flags.writeable = False
    return found


def shares(counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return the number of characters of each script, the most frequent first.

    Args:
        counts: The number of characters for each code point.
    """
    present = counts.nonzero()[0]
    sums = np.zeros(len(NAMES), np.int64)
    np.add.at(sums, of_code_points()[present], counts[present])
    found = {name: int(number) for name, number in zip(NAMES, sums, strict=True) if number}
    return dict(sorted(found.items(), key=lambda each: -each[1]))

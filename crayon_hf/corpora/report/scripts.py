"""Which scripts characters are of, by Unicode's property, as the engine's regular expressions know it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_AT_ONCE = 2048
"""Different characters in a string: the time of a split grows with its square."""
COMMON, INHERITED, UNKNOWN = "Common", "Inherited", "Unknown"
_NAMES = """
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
"""Those that have letters of their own, frequent ones first. Digits, punctuation and spaces are `COMMON`."""


def shares(counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """How many characters are of each script, the most frequent one first; `counts` are those of all code points."""
    from tokenizers import Regex

    from crayon_hf.pre_tokenizers import Split

    present = np.flatnonzero(counts)
    present = present[(present < 0xD800) | (present > 0xDFFF)]
    found: dict[str, int] = {}
    names = (*SCRIPTS, COMMON, INHERITED)
    splits: list[Any] = [Split(Regex(rf"\p{{{name}}}+"), "removed", invert=True) for name in names]
    for first in range(0, len(present), _AT_ONCE):
        left = "".join(map(chr, present[first : first + _AT_ONCE].tolist()))
        for name, split in zip(names, splits, strict=True):
            chars = "".join(piece for piece, _ in split.pre_tokenize_str(left)) if left else ""
            if chars:
                found[name] = found.get(name, 0) + int(counts[list(map(ord, chars))].sum())
                left = left.translate(dict.fromkeys(map(ord, chars)))
    rest = int(counts.sum()) - sum(found.values())
    if rest:
        found[UNKNOWN] = rest
    return dict(sorted(found.items(), key=lambda each: -each[1]))

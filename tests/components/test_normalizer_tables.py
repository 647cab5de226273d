"""Normalizers treat every code point as those of the installed ``tokenizers`` do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crayon_hf import _core
from parity.components.charsmap import precompiled
from tests.support import reference_impl

POINTS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BERT = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}


def reference(component: dict[str, Any]) -> Any:
    return reference_impl.stock_with(normalizer=component).normalizer


def bert(**options: bool | None) -> dict[str, Any]:
    return {"type": "BertNormalizer", **BERT, **options}


COMPONENTS = [
    *({"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel")),
    bert(clean_text=True),
    bert(handle_chinese_chars=True),
    bert(strip_accents=True),
    bert(lowercase=True),
    bert(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("component", COMPONENTS, ids=json.dumps)
def test_every_code_point(component: dict[str, Any]) -> None:
    normalize, text = reference(component).normalize_str, json.dumps(component)
    changed = 0
    for start in range(0, len(POINTS), 8192):
        # Each beside an ASCII letter, and beside the next code point, with which it may combine.
        for joiner in ("a\n", ""):
            given = joiner.join(POINTS[start : start + 8192])
            want = normalize(given)
            changed += want != given
            if _core.normalize(text, given, aligned=False)[0] != want:
                for char in POINTS[start : start + 8192]:
                    assert _core.normalize(text, char, aligned=False)[0] == normalize(char), f"U+{ord(char):04X}"
                pytest.fail(f"characters from U+{ord(POINTS[start]):04X} on differ only beside each other")
    assert changed > 0


@pytest.mark.slow
def test_every_code_point_at_the_ends() -> None:
    component = {"type": "Strip", "strip_left": True, "strip_right": True}
    normalize, text = reference(component).normalize_str, json.dumps(component)
    white = [c for c in POINTS[:0x10000] if normalize(f"{c}x{c}") == "x"]
    assert len(white) == 25
    for char in POINTS:
        # Only white space is stripped, so one call of ours covers all, and the reference is called for candidates only.
        if _core._testing.normalizer_leaves(text, char) == (char in white):
            pytest.fail(f"U+{ord(char):04X}")
    for char in white:
        assert _core.normalize(text, f"{char}x{char}", aligned=False)[0] == "x"
    assert [c for c in POINTS[0x10000 - 0x800 :] if normalize(c) != c] == []


ACUTE, ZWJ, KA, VIRAMA = "\u0301", "\u200d", "\u0915", "\u094d"
JAMO = "\u1100", "\u1161", "\u11a8"


@pytest.mark.slow
def test_grapheme_class_of_every_code_point() -> None:
    """The normalizer Precompiled replaces a grapheme cluster of less than six bytes whole. So its results show which
    characters join a cluster."""
    component = precompiled({"a": "b", ACUTE: "!", "\u00a9": "Y", KA: "K", **{jamo: f"<{jamo}>" for jamo in JAMO}})
    normalize, text = reference(component).normalize_str, json.dumps(component)

    def probe(char: str) -> str:
        filler = {1: "\U000e0100", 2: "\u20d0", 3: ACUTE, 4: ACUTE}[len(char.encode())]
        probes = [char + 2 * ACUTE, "a" + char]
        # Only marks join, so the remaining ideographs, unassigned and private code points are not tested.
        if not 0x20000 <= ord(char) < 0xE0000 and ord(char) < 0xE2000:
            probes += [f"{char}a{filler}", f"\u00a9{char}{ZWJ}\u00a9{ACUTE}", f"\u00a9{ZWJ}{char}"]
            probes += [KA + char + KA + ACUTE, KA + VIRAMA + char + KA + ACUTE, char + VIRAMA + KA + ACUTE]
            probes += [char + jamo + ACUTE for jamo in JAMO]
        return "\n".join(probes)

    for start in range(0, len(POINTS), 4096):
        batch = POINTS[start : start + 4096]
        given = "\n".join(map(probe, batch))
        if _core.normalize(text, given, aligned=False)[0] != normalize(given):
            for char in batch:
                assert _core.normalize(text, probe(char), False)[0] == normalize(probe(char)), f"U+{ord(char):04X}"


@pytest.mark.slow
def test_every_pair_that_may_compose() -> None:
    compose, decompose = reference({"type": "NFC"}).normalize_str, reference({"type": "NFD"}).normalize_str
    decompositions = [d for c in POINTS if (d := decompose(c)) != c]
    starts = sorted({d[0] for d in decompositions} | {compose(d[:-1]) for d in decompositions})
    seconds = sorted({c for d in decompositions for c in d[1:]})
    assert len(starts) > 500
    assert len(seconds) > 100
    for second in seconds:
        text = "\n".join(start + second for start in starts)
        assert _core.normalize('{"type": "NFC"}', text, aligned=False)[0] == compose(text), f"U+{ord(second):04X}"

"""Every normalizer gives the text and the alignments of the installed ``tokenizers`` (the reference)."""

from __future__ import annotations

import base64
import functools
import json
import random
import struct
from typing import Any

import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from parity.components import parts
from parity.components.charsmap import charsmap, precompiled
from tests.support import reference_impl

Component = dict[str, Any]
Result = tuple[str, list[tuple[int, int]]]

# Characters that some normalizer changes, or that combine with each other.
POOL = [
    *"aAbB zZ\t\n\r.,-_xX1\0\x01\x7f\x85\x9f",
    *"\u00e9\u00c9\u00df\u0130\u0131\u01c5\u017f\u03a3\u03c3\u03c2\u1e9e\u212a\u212b\u00c5\u2126",  # cases
    *"\u2026\ufb01\ufb03\u2460\u00bd\ufdfa\uff76\uff9e\u1e9b\u0e33\u0eb3",  # compatibility
    *"\u4e2d\u6587\u65e5\uac00\uac01\ud558\ud7fb\ua960\u1100\u1161\u11a8\U00020000\U0002f800",
    *"\u00a0\u3000\u2028\u2581\u200b\u200d\u200c\ufeff\ufffd\u00ad\u0600\U000110bd",
    *"\u0300\u0301\u0323\u0327\u0308\u0345\u0344\u0f73\u0f71\u0f72\u0903\U000e0100\U0001d15e",
    *"\u0915\u094d\u0937\u0958\u0340\U0001e900\U00010a00",
    *"\u00a9\U0001f600\U0001f468\U0001f3fb\U0001f1e6\U0001f1ff",
    "\r\n",
    "e\u0301",
    "A\u030a",
]
NAMES = ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel"]
BERT = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def strip(left: bool, right: bool) -> Component:
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def replace(pattern: str, content: str, kind: str = "String") -> Component:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def prepend(text: str) -> Component:
    return {"type": "Prepend", "prepend": text}


def bert(**options: bool | None) -> Component:
    return {"type": "BertNormalizer", **BERT, **options}


def sequence(*parts: Component) -> Component:
    return {"type": "Sequence", "normalizers": list(parts)}


@functools.lru_cache(maxsize=64)
def tokenizer(component: str) -> Tokenizer:
    """A tokenizer of ``tokenizers`` with this normalizer that makes one token, and so one pair of offsets, for each
    character of the normalized text."""
    split = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
    return reference_impl.stock_with(normalizer=json.loads(component), pre_tokenizer=split)


def reference(component: Component, text: str) -> Result | None:
    """The text that ``tokenizers`` normalizes, and the alignment of each of its bytes; None if ``tokenizers``
    panics."""
    made = tokenizer(json.dumps(component))
    found = reference_impl.try_reference(lambda: (made.normalizer.normalize_str(text), made.encode(text).offsets))
    if found is None:
        return None
    normalized, offsets = found
    byte_of = [0]
    for char in text:
        byte_of.append(byte_of[-1] + len(char.encode()))
    assert len(offsets) == len(normalized)
    pairs = zip(normalized, offsets, strict=True)
    return normalized, [(byte_of[start], byte_of[end]) for c, (start, end) in pairs for _ in c.encode()]


def check(component: Component, text: str) -> None:
    made = json.dumps(component)
    want = reference(component, text)
    if want is None:
        for aligned in (True, False):
            with pytest.raises((ValueError, VocabularyError)):
                _core.normalize(made, text, aligned)
        return
    assert _core.normalize(made, text) == want
    assert _core.normalize(made, text, aligned=False) == (want[0], [])
    if _core._testing.normalizer_leaves(made, text):
        assert want[0] == text


def random_text(rng: random.Random) -> str:
    length, kind = rng.choice((0, 1, 1, 2, 3, 4, 6, 10, 20)), rng.random()
    if kind < 0.15:
        ranges = (range(0x250), range(0xD800), range(0xE000, 0x10000), range(0x10000, 0x110000))
        return "".join(chr(rng.choice(rng.choice(ranges))) for _ in range(length))
    few = rng.sample(POOL, 3) if kind < 0.3 else POOL
    return "".join(rng.choice(few) for _ in range(length))


def random_map(rng: random.Random) -> Component:
    def some(lengths: tuple[int, ...]) -> str:
        return "".join(rng.choice(POOL) for _ in range(rng.choice(lengths))).replace("\0", "")

    rules = {some((1, 1, 1, 2, 2, 3)): some((0, 1, 1, 2, 3)) for _ in range(rng.randrange(1, 12))}
    rules.pop("", None)
    return precompiled(rules or {"a": "b"})


def random_component(rng: random.Random, depth: int = 0) -> Component:
    kind = rng.randrange(8 if depth < 2 else 6)
    if kind <= 1:
        return {"type": rng.choice(NAMES)}
    if kind == 2:
        return replace(
            rng.choice((" ", "a", "A", "ab", "\u00e9", "", "\u2026", "  ", "\u2581", "\u4e2d")),
            rng.choice(("", "\u2581", "ab", "\u00e9", " ", "-", "nine bytes")),
        )
    if kind == 3:
        return prepend(rng.choice(("\u2581", "ab", "", "\u00e9", "_")))
    if kind == 4:
        return strip(rng.random() < 0.5, rng.random() < 0.5)
    if kind == 5:
        options = {name: rng.random() < 0.5 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        return bert(strip_accents=rng.choice((None, True, False)), **options)
    if kind == 6:
        return random_map(rng)
    return sequence(*(random_component(rng, depth + 1) for _ in range(rng.randrange(4))))


@pytest.mark.parametrize("seed", range(4))
def test_random_components_on_random_text(seed: int) -> None:
    """Random components on random text. If a component inserts text at the start of inserted text, ``tokenizers``
    panics and the engine raises."""
    rng = random.Random(seed)
    components = [random_component(rng) for _ in range(60)]
    if seed == 0:
        inserted = [sequence(first, part) for first in (prepend(""), replace("", "x")) for part in components[:20]]
        components += [*parts.normalizers().values(), *inserted]
    for component in components:
        for _ in range(60):
            check(component, random_text(rng))


# Characters that combine with each other: marks, starters, singletons, exclusions, Jamo.
MARKS = [*map(chr, (0x300, 0x301, 0x308, 0x30A, 0x316, 0x323, 0x327, 0x334, 0x344, 0x345, 0x93C, 0xF71, 0xF72))]
GROUPS = [
    MARKS,
    [*map(chr, (0x7FD, 0x8D3, 0x9FE, 0x1ABF, 0x1DF6, 0x10F46, 0x11839, 0x1E130))],  # after Unicode 9.0
    [*"aAeouKnx \n\u00c5\u00e9\u1ea5\u03b9\u0915\u09c7\u0dd9\u0b92\u1025\u4e2d\U0001f600\u200d"],
    [*"\u09be\u09d7\u0b3e\u0bd7\u0cc2\u0d3e\u0dcf\u0ddf\u102e\u1b35\U000110ba\U00011127"],
    [*"\u212b\u2126\u2000\u1f71\u0340\u0387\uf900\U0002f800\u0958\u09dc\u0f43\u0f73\u0f81\u2adc\ufb1d\U0001d15e"],
    [*map(chr, (*range(0x1100, 0x1114), *range(0x115F, 0x1178), *range(0x11A6, 0x11C5), 0xAC00, 0xAC01, 0xD7A3))],
]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_forms(form: str) -> None:
    rng = random.Random(form)
    for _ in range(2500):
        groups = rng.sample(GROUPS, rng.choice((1, 2, 2, 3)))
        text = "".join(rng.choice(rng.choice(groups)) for _ in range(rng.choice((2, 3, 5, 9, 20))))
        check({"type": form}, text)
    for length in (31, 32, 2000):
        run = "".join(rng.choice(MARKS) for _ in range(length))
        for text in ("e" + run, run, "\u0316" * length + "\u0334" + "e", "a" + "\u0301\u0316" * length + "\u0323"):
            check({"type": form}, text)


REPLACED = [(" {2,}", "\u2581"), (r"\s+", " "), ("^", "x"), ("$", "x"), ("x*", "-"), ("[a-c]", ""), (r"\b", "|")]


@pytest.mark.parametrize(("pattern", "content"), [*REPLACED, ("(?=a)", "_")])
def test_regex_replacements(pattern: str, content: str) -> None:
    rng = random.Random(pattern)
    component = replace(pattern, content, "Regex")
    for text in ["", "a", " a  b   c ", "xx axx", *(random_text(rng) for _ in range(300))]:
        check(component, text)
        check(sequence(component, {"type": "Lowercase"}), text)


@pytest.mark.slow
@pytest.mark.parametrize("aligned", [True, False])
def test_what_grows_without_end_is_refused(aligned: bool) -> None:
    """A normalizer whose text would grow without end is refused before memory is allocated. 1 MiB, or 1024 bytes for
    each byte of the input, is always allowed."""
    for double in (replace("a", "aa"), replace("a", "aa", "Regex"), replace("(a)", "aa", "Regex")):
        with pytest.raises(VocabularyError, match="more than 1024 bytes of each byte"):
            _core.normalize(json.dumps(sequence(*[double] * 60)), "a", aligned)
        text, _ = _core.normalize(json.dumps(sequence(*[double] * 20)), "a", aligned)
        assert text == "a" * 2**20
    huge = json.dumps(sequence(replace("a", "a" * 10**6), replace("a", "a" * 10**7)))
    with pytest.raises(VocabularyError, match="more than 1024 bytes of each byte"):
        _core.normalize(huge, "a", aligned)
    text, _ = _core.normalize(json.dumps(replace("a", "b" * 1000)), "a" * 3000, aligned)
    assert text == "b" * 3_000_000


def test_leaves_is_not_idle() -> None:
    plain = "the quick brown fox, 42 times."
    lowering = [{"type": "Lowercase"}, bert(), sequence({"type": "NFC"}, bert()), strip(True, True)]
    for component in [*({"type": name} for name in NAMES if name != "ByteLevel"), *lowering]:
        assert _core._testing.normalizer_leaves(json.dumps(component), plain)
        assert not _core._testing.normalizer_leaves(json.dumps(component), plain + "A\x01\u212b\ufb01\u0301\u4e2d ")


def test_fields_in_an_array_are_unsupported() -> None:
    for shape in ('["a"]', '{"type": "Sequence", "normalizers": [["a"]]}'):
        with pytest.raises(UnsupportedError, match="array"):
            _core.normalize(shape, "x")


@pytest.mark.slow
def test_hostile_charsmaps() -> None:
    """The engine refuses a damaged charsmap if ``tokenizers`` does, raises if ``tokenizers`` panics, and otherwise
    gives its result."""
    rng = random.Random(11)
    good = charsmap({"a": "b", "ab": "c", "\u00e9": "ee", "\u2026": "...", "\u0301": ""})
    loaded = 0
    for _ in range(1500):
        blob = bytearray(good)
        if rng.random() < 0.3:
            size = rng.choice((0, 3, 4, 5, 8, 64, 1024))
            blob = bytearray(struct.pack("<I", size) + rng.randbytes(rng.randrange(1100)))
        else:
            for _ in range(rng.choice((1, 2, 10, 100))):
                blob[rng.randrange(rng.choice((40, len(blob))))] = rng.randrange(256)
        if rng.random() < 0.2:
            del blob[rng.randrange(len(blob)) :]
        component = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes(blob)).decode()}
        try:
            tokenizer(json.dumps(component))
        except BaseException:
            with pytest.raises(VocabularyError, match="charsmap"):
                _core._testing.normalizer_leaves(json.dumps(component), "")
            continue
        loaded += 1
        for text in ("", "a", "ab\u2026\u00e9", "xyz", "\u00e9\u0301", "\0a", random_text(rng)):
            check(component, text)
    assert loaded > 200


# Two or three characters of each grapheme cluster class, of every length.
CLUSTERS = [
    *"ab1\r\n\0\x7f\u00ad\u200b\u2028\U000e0001",  # others, and controls
    *"\u0301\u0308\u0ccd\ufe0f\u20d0\U000e0100\U0001f3fb\u200d\u200c",  # extending
    *"\u0903\u0e33\ua823\U00011000",  # spacing marks
    *"\u0600\u06dd\u0d4e\U000110bd\U000111c2",  # prepending
    *"\u1100\ua960\u1161\ud7b0\u11a8\ud7cb\uac00\uac01\U00016d63",  # Hangul
    *"\u00a9\u00ae\u203c\u2764\U0001f600\U0001f468\U0001f1e6",  # pictographs and flags
    *"\u0915\u0937\u09a4\U00010a10\u094d\u09cd\u0d4d\U00011133\u093c",  # Indic conjuncts
    "\u00e9",
    "\u4e2d",
]


@pytest.mark.parametrize("seed", range(3))
def test_clusters(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        rules = {c: f"<{ord(c):x}>" for c in CLUSTERS if c != "\0" and rng.random() < 0.8}
        for _ in range(20):
            key = (rng.choice(CLUSTERS) + rng.choice(CLUSTERS)).replace("\0", "x")
            rules[key] = "{" + ",".join(f"{ord(c):x}" for c in key) + "}"
        component = precompiled(rules)
        for _ in range(400):
            few = rng.sample(CLUSTERS, rng.choice((3, 5, len(CLUSTERS))))
            check(component, "".join(rng.choice(few) for _ in range(rng.choice((2, 3, 4, 6, 12)))))


# -- every code point

POINTS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


OFF = {"type": "BertNormalizer"} | dict.fromkeys(BERT, False)
COMPONENTS = [*({"type": name} for name in NAMES), bert(), *(OFF | {name: True} for name in BERT)]


def stock(component: Component) -> Any:
    return tokenizer(json.dumps(component)).normalizer.normalize_str


@pytest.mark.slow
@pytest.mark.parametrize("component", COMPONENTS, ids=json.dumps)
def test_every_code_point(component: Component) -> None:
    normalize, text = stock(component), json.dumps(component)
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
    normalize, text = stock(component), json.dumps(component)
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
    normalize, text = stock(component), json.dumps(component)

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
    compose, decompose = stock({"type": "NFC"}), stock({"type": "NFD"})
    decompositions = [d for c in POINTS if (d := decompose(c)) != c]
    starts = sorted({d[0] for d in decompositions} | {compose(d[:-1]) for d in decompositions})
    seconds = sorted({c for d in decompositions for c in d[1:]})
    assert len(starts) > 500
    assert len(seconds) > 100
    for second in seconds:
        text = "\n".join(start + second for start in starts)
        assert _core.normalize('{"type": "NFC"}', text, aligned=False)[0] == compose(text), f"U+{ord(second):04X}"

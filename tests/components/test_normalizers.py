"""Every normalizer gives the text and the alignments of the reference, which is the installed ``tokenizers``."""

from __future__ import annotations

import base64
import functools
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "unicode"))
from charsmap import charsmap, precompiled

Component = dict[str, Any]
Result = tuple[str, list[tuple[int, int]]]

# Characters that some normalizer changes, or that meet each other in interesting ways.
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
    """A reference tokenizer with one token, hence one pair of offsets, for each character of the normalized text."""
    return Tokenizer.from_str(
        json.dumps(
            {
                "added_tokens": [],
                "normalizer": json.loads(component),
                "pre_tokenizer": {
                    "type": "Split",
                    "pattern": {"Regex": r"[\s\S]"},
                    "behavior": "Isolated",
                    "invert": False,
                },
                "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
            }
        )
    )


def reference(component: Component, text: str) -> Result | None:
    """The normalized text and the alignment of each of its bytes; None when the reference panics."""
    made = tokenizer(json.dumps(component))
    try:
        normalized, offsets = made.normalizer.normalize_str(text), made.encode(text).offsets
    except BaseException as error:  # pyo3's PanicException is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return None
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
    rng = random.Random(seed)
    for _ in range(60):
        component = random_component(rng)
        for _ in range(60):
            check(component, random_text(rng))


FIXED = [
    *({"type": name} for name in NAMES),
    strip(True, True),
    strip(True, False),
    strip(False, True),
    bert(),
    bert(lowercase=False),
    bert(strip_accents=False, clean_text=False),
    prepend("\u2581"),
    replace(" ", "\u2581"),
    replace("``", '"'),
    sequence(prepend("\u2581"), replace(" ", "\u2581")),
    sequence({"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}),
    precompiled({"a": "b", "\u0301": "", "\u2026": "...", "\u00a0": " ", "\r": " ", "e\u0301": "\u00e9"}),
]


@pytest.mark.parametrize("component", FIXED, ids=lambda c: json.dumps(c)[:60])
@settings(max_examples=60)
@given(text=st.text(st.one_of(st.sampled_from("".join(POOL)), st.characters(exclude_categories=("Cs",)))))
def test_any_text(component: Component, text: str) -> None:
    check(component, text)


@pytest.mark.parametrize(
    ("component", "text", "normalized", "alignments"),
    [
        ({"type": "Lowercase"}, "\u0130\u03a3", "i\u0307\u03c3", [(0, 2)] * 3 + [(2, 4)] * 2),  # no final sigma
        ({"type": "NFKC"}, "\ufb01x", "fix", [(0, 3), (0, 3), (3, 4)]),
        ({"type": "NFD"}, "\u00e9", "e\u0301", [(0, 2)] * 3),
        ({"type": "StripAccents"}, "e\u0301\u0301x", "ex", [(0, 1), (5, 6)]),
        ({"type": "Nmt"}, "\x01a\u200bb", "a b", [(1, 2), (2, 5), (5, 6)]),
        ({"type": "ByteLevel"}, "a \u00e9", "a\u0120\u00c3\u00a9", [(0, 1), *[(1, 2)] * 2, *[(2, 4)] * 4]),
        (strip(True, True), " \u3000\u00e9 ", "\u00e9", [(4, 6)] * 2),
        (strip(True, True), " \t ", "", []),
        (prepend("\u2581"), "ab", "\u2581ab", [(0, 1)] * 4 + [(1, 2)]),
        (prepend("\u2581"), "", "", []),
        (prepend(""), "ab", "ab", [(0, 0), (1, 2)]),
        (replace("ab", "\u00e9"), "xabab", "x\u00e9\u00e9", [(0, 1), (2, 3), (2, 3), (4, 5), (4, 5)]),
        (replace("", "-"), "ab", "-a-b-", [(0, 0), (0, 1), (0, 1), (1, 2), (1, 2)]),
        (bert(), "\0\u4e2d\u00c9", " \u4e2d e", [*[(1, 4)] * 5, (4, 6)]),
        (precompiled({"\u2026": "..."}), "\u2026a", "...a", [(0, 3)] * 3 + [(3, 4)]),
        # The shortest key takes the cluster, mark and all; in a cluster of six bytes the mark stays.
        (precompiled({"a": "b"}), "a\u0301", "b", [(0, 1)]),
        (precompiled({"a": "b"}), "a\u0301\u0301\u0301", "b" + 3 * "\u0301", None),
        (sequence(), "ab", "ab", [(0, 1), (1, 2)]),
    ],
)
def test_examples(component: Component, text: str, normalized: str, alignments: list[tuple[int, int]] | None) -> None:
    got = _core.normalize(json.dumps(component), text)
    assert got[0] == normalized
    if alignments is not None:
        assert got[1] == alignments
    check(component, text)


@pytest.mark.parametrize(
    ("pattern", "content"),
    [
        (" {2,}", "\u2581"),
        (r"\s+", " "),
        ("^", "x"),
        ("$", "x"),
        ("x*", "-"),
        ("[a-c]", ""),
        (r"\b", "|"),
        ("(?=a)", "_"),
    ],
)
def test_regex_replacements(pattern: str, content: str) -> None:
    rng = random.Random(pattern)
    component = replace(pattern, content, "Regex")
    for text in ["", "a", " a  b   c ", "xx axx", *(random_text(rng) for _ in range(300))]:
        check(component, text)
        check(sequence(component, {"type": "Lowercase"}), text)


@pytest.mark.slow
def test_text_inserted_at_the_start_stops_what_follows() -> None:
    """The reference panics there; we raise, with alignments or without."""
    for first in (prepend(""), replace("", "x")):
        for then in ({"type": "Lowercase"}, {"type": "NFC"}, {"type": "StripAccents"}, bert(), {"type": "ByteLevel"}):
            assert reference(sequence(first, then), "Abc") is None
            check(sequence(first, then), "Abc")
        rng = random.Random(5)
        for _ in range(40):
            component = sequence(first, *(random_component(rng, 1) for _ in range(rng.choice((1, 1, 2)))))
            for _ in range(20):
                check(component, random_text(rng))


@pytest.mark.slow
@pytest.mark.parametrize("aligned", [True, False])
def test_what_grows_without_end_is_refused(aligned: bool) -> None:
    """Before the memory for it is taken. A MiB, and 1024 bytes of each, are allowed to anybody."""
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
    plain = "The quick brown fox, 42 times."
    for component in [{"type": name} for name in NAMES if name not in ("Lowercase", "ByteLevel")]:
        assert _core._testing.normalizer_leaves(json.dumps(component), plain)
        assert not _core._testing.normalizer_leaves(json.dumps(component), plain + "\x01\u212b\ufb01\u0301")
    lower = plain.lower()
    for component in ({"type": "Lowercase"}, bert(), sequence({"type": "NFC"}, bert()), strip(True, True)):
        assert _core._testing.normalizer_leaves(json.dumps(component), lower)
        assert not _core._testing.normalizer_leaves(json.dumps(component), lower + "A\u4e2d ")
    assert _core._testing.normalizer_leaves(json.dumps(replace("_", " ")), plain)
    assert not _core._testing.normalizer_leaves(json.dumps(replace(" ", "_")), plain)
    assert _core._testing.normalizer_leaves(json.dumps(precompiled({"\u2026": "..."})), plain + "\u4e2d")
    assert _core._testing.normalizer_leaves('{"type": "ByteLevel"}', "abc!")
    assert not _core._testing.normalizer_leaves(json.dumps(prepend("")), plain)


@pytest.mark.slow
@pytest.mark.parametrize("length", [7, 8, 9, 100_000])
def test_long_runs(length: int) -> None:
    rng = random.Random(length)
    marks = "".join(rng.choice("\u0300\u0301\u0316\u0323\u0327\u0334\u0344\u0345") for _ in range(length))
    texts = [
        "a" * length,
        " " * length,
        "A b" * length,
        "\u00c9" * length,
        "e" + marks,
        "\u4e2d" * length,
        "\ud558" * length,
    ]
    for component in FIXED:
        for text in texts:
            if length < 100:
                check(component, text)
            else:
                want = tokenizer(json.dumps(component)).normalizer.normalize_str(text)
                assert _core.normalize(json.dumps(component), text, aligned=False)[0] == want


# What the reference makes of these; None: it refuses.
SHAPES: list[tuple[Any, str | None]] = [
    ({"strip_left": True, "strip_right": True}, "x"),
    ({"type": "Nameless", "strip_left": True, "strip_right": True}, "x"),
    ({"type": "Bert", **BERT}, "x"),
    ({**BERT}, "x"),
    ({"clean_text": True, "handle_chinese_chars": True, "lowercase": True}, "x"),
    ({**BERT, "strip_left": True, "strip_right": True}, "x"),
    ({"normalizers": [{"prepend": "a"}]}, "x"),
    ({"pattern": {"String": "a"}, "content": "b"}, "x"),
    ({"prepend": "a"}, "x"),
    ({"type": "NFC", "other": 1}, "x"),
    ({"type": "Precompiled", "precompiled_charsmap": "AAAAAA"}, "x"),
    ({"precompiled_charsmap": "AAAAAA=="}, None),
    ({"type": "Precompiled"}, None),
    ({"type": "Precompiled", "precompiled_charsmap": ""}, None),
    ({"type": "Precompiled", "precompiled_charsmap": "AAAAAB=="}, None),
    ({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"\0\0\0\0\xff").decode()}, None),
    ({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"\4\0\0\0\0").decode()}, None),
    ({"type": "Strip"}, None),
    ({"type": "Strip", "strip_left": True}, None),
    ({"type": "Strip", "strip_left": 1, "strip_right": True}, None),
    ({"type": "BertNormalizer", "clean_text": True}, None),
    ({"type": "Sequence"}, None),
    ({"type": "Sequence", "normalizers": [None]}, None),
    ({"type": "Sequence", "normalizers": [{"type": "Append", "append": "a"}]}, None),
    ({"type": "Replace", "pattern": "a", "content": "b"}, None),
    ({"type": "Replace", "pattern": {}, "content": "b"}, None),
    ({"type": "Replace", "pattern": {"String": "a", "Regex": "a"}, "content": "b"}, None),
    ({"type": "Replace", "pattern": {"Text": "a"}, "content": "b"}, None),
    ({"type": "Replace", "pattern": {"Regex": "("}, "content": "b"}, None),
    ({"type": "Replace", "pattern": {"String": "a"}}, None),
    ({"type": "Prepend", "prepend": 3}, None),
    ({"type": "Append", "append": "a"}, None),
    ({"type": "nfc"}, None),
    ({"type": None}, None),
    ({}, None),
    ("NFC", None),
    (3, None),
]


@pytest.mark.parametrize(("shape", "made"), SHAPES, ids=lambda value: json.dumps(value)[:70])
def test_shapes(shape: Any, made: str | None) -> None:
    if made is None:
        with pytest.raises(BaseException, match=r"\w"):  # PanicException, too
            tokenizer(json.dumps(shape))
        with pytest.raises(VocabularyError, match=r"\w"):
            _core.normalize(json.dumps(shape), "x")
    elif "precompiled_charsmap" in shape:
        check(shape, "")
        check(shape, "x")
    else:
        for text in (" A\u4e2da\u00c9 ", "", "aa"):
            check(shape, text)


def test_fields_in_an_array_are_unsupported() -> None:
    assert str(tokenizer('["a"]').normalizer) == 'Prepend(prepend="a")'
    for shape in ('["a"]', '{"type": "Sequence", "normalizers": [["a"]]}'):
        with pytest.raises(UnsupportedError, match="array"):
            _core.normalize(shape, "x")


@pytest.mark.slow
def test_hostile_charsmaps() -> None:
    """Refused where the reference refuses, an error where it panics, and the same where it does not."""
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


@pytest.mark.slow
def test_base64_is_read_as_leniently() -> None:
    rng = random.Random(3)
    accepted = 0
    for _ in range(3000):
        text = "AAAAAA" * (rng.random() < 0.7) + "".join(rng.choice("AAAABQ=/+-_ ") for _ in range(rng.randrange(12)))
        if rng.random() < 0.7:
            text = text.rstrip("=") + "=" * rng.randrange(5)
        component = json.dumps({"type": "Precompiled", "precompiled_charsmap": text})
        try:
            tokenizer(component)
        except BaseException:
            with pytest.raises(VocabularyError):
                _core._testing.normalizer_leaves(component, "")
        else:
            accepted += 1
            _core._testing.normalizer_leaves(component, "")
    assert accepted > 100


# Two or three of each class that a grapheme cluster is made of, in every length.
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

"""Pre-tokenizers: every kind and option cuts text as ``tokenizers`` does, on every code point and on hostile text."""

from __future__ import annotations

import json
import random
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, Regex
from tokenizers.pre_tokenizers import PreTokenizer

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.support import reference_impl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "unicode"))
import generate_classes as measure

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DELIMITERS = {
    "▁": "metaspace",
    "_": "low line",
    " ": "space",
    "漢": "three bytes",
    "é": "two bytes",
    "😀": "four bytes",
}


def byte_level(add_prefix_space: bool, use_regex: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def split(kind: str, pattern: str, behavior: str, invert: bool) -> dict[str, Any]:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(members)}


def metaspace(replacement: str, scheme: str, splits: bool) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": splits}


SIMPLE: list[dict[str, Any]] = [
    *({"type": name} for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation")),
    *({"type": name} for name in ("UnicodeScripts", "FixedLength")),
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    *({"type": "Digits", "individual_digits": individual} for individual in (False, True)),
    *({"type": "CharDelimiterSplit", "delimiter": char} for char in DELIMITERS),
    *({"type": "FixedLength", "length": length} for length in (1, 2, 7, 2**62)),
    *(byte_level(prefix, regex) for prefix in (False, True) for regex in (False, True)),
]
METASPACES = [
    metaspace(char, scheme, splits)
    for char in DELIMITERS
    for scheme in ("always", "never", "first")
    for splits in (True, False)
]
LITERALS = [
    split("String", text, behavior, invert)
    for text in ("a", " ", "aab", "aa", "é", "漢字", ".", "\x00", "a-b#&~[]()*+?^$|\\{}", "")
    for behavior in BEHAVIORS
    for invert in (False, True)
]
REGEXES = [
    split("Regex", pattern, behavior, invert)
    for pattern in (GPT2, QWEN, r"\s", r"[a-z]+", r"\d|\p{P}", r"a*", r"(?=a)", r"(?<=a)b", "")
    for behavior in BEHAVIORS
    for invert in (False, True)
]
WHITE, SPLITS = (
    {"type": "WhitespaceSplit"},
    [split("Regex", GPT2, "Isolated", False), split("Regex", QWEN, "Removed", True)],
)
FIXED = [{"type": "FixedLength", "length": length} for length in range(4)]
FIRST, ALWAYS = metaspace("▁", "first", True), metaspace("▁", "always", True)
SEQUENCES = [
    sequence(),
    sequence(WHITE, FIRST),
    sequence({"type": "Whitespace"}, {"type": "Digits", "individual_digits": True}, {"type": "Punctuation"}),
    sequence({"type": "UnicodeScripts"}, sequence({"type": "Punctuation", "behavior": "MergedWithPrevious"})),
    sequence(FIXED[3], FIRST, FIXED[2]),
    sequence(ALWAYS, metaspace("a", "always", True), byte_level(True, True)),
    sequence(FIRST, FIXED[1], metaspace("_", "first", False)),
    sequence(byte_level(True, True), FIXED[1], metaspace("_", "first", True)),
    sequence(byte_level(True, False), byte_level(True, True)),
    sequence(byte_level(False, True), split("String", "Ġ", "MergedWithNext", False)),
    sequence(SPLITS[0], byte_level(False, False)),
    sequence(SPLITS[1], {"type": "Digits", "individual_digits": True}, byte_level(True, False)),
    sequence(split("String", "a", "Removed", False), split("Regex", GPT2, "Contiguous", True), byte_level(False, True)),
    sequence(split("String", "a", "Removed", False), sequence(byte_level(True, False))),
]
COMPONENTS = SIMPLE + METASPACES + LITERALS + REGEXES + SEQUENCES

_MARKED = "ababaabaab ▁▁ ▁a▁ b__c _ d 漢字かなカナー。Yes 京都 ー ー e\u0301 n̈ ﬁ ½ ² ٣٤٥ १२३ Ⅷ 一二"
_MARKED += "😀👩‍👩‍👧‍👦 \x00\x01\x7f\x80\x85\xa0\u1680\u180e\u200b\u2028\u3000\ufeff\ufffd"
_OTHERS = "a-b#&~[]()*+?^$|\\{} ¿¡«»„“…\u2010₠$+<=>^`|~\u2032″・、。"
_OTHERS += "\U0010ffff\U00010000\ue000\ud7ff"
ALPHABET = sorted(
    set(_MARKED + _OTHERS) | set("abcABC 019\t\r\n'\u2019\u017f\u0378\u2fff") | set(map(chr, range(0x250)))
)
HOSTILE = st.text(
    st.one_of(st.sampled_from("aab  ▁_1é漢😀'."), st.sampled_from(ALPHABET), st.characters(exclude_categories=["Cs"]))
)


@cache
def reference(component: str) -> PreTokenizer:
    return reference_impl.stock_with(pre_tokenizer=json.loads(component)).pre_tokenizer


def check(component: object, text: str) -> None:
    spelled = json.dumps(component)
    # An empty Sequence keeps the empty piece of an empty text, which gives no tokens.
    expected = [piece for piece in reference(spelled).pre_tokenize_str(text) if piece[0]]
    assert _core._testing.pre_tokenize(spelled, text) == expected
    raw = _core._testing.pre_tokenize(spelled, text, raw_bytes=True)
    assert [offsets for _, offsets in raw] == [offsets for _, offsets in expected]
    if _core._testing.ends_in_byte_level(spelled):
        assert [reference_impl.spell(piece) for piece, _ in raw] == [piece for piece, _ in expected]
    if '"first"' not in spelled:
        unaligned = _core._testing.pre_tokenize(spelled, text, aligned=False)
        assert [piece for piece, _ in unaligned] == [piece for piece, _ in expected]


@pytest.mark.parametrize("component", COMPONENTS, ids=json.dumps)
@settings(max_examples=20, deadline=None)
@given(HOSTILE)
def test_hostile_text(component: dict[str, Any], text: str) -> None:
    check(component, text)


LEAVES = SIMPLE + METASPACES + LITERALS


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.sampled_from(LEAVES), lambda s: st.lists(s, max_size=3).map(lambda m: sequence(*m))), HOSTILE)
def test_any_nesting(component: dict[str, Any], text: str) -> None:
    check(component, text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "component",
    [
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "BertPreTokenizer"},
        {"type": "Punctuation"},
        {"type": "Digits", "individual_digits": True},
        {"type": "UnicodeScripts"},
        byte_level(False, False),
    ],
    ids=lambda c: str(c["type"]),
)
def test_every_code_point(component: dict[str, Any]) -> None:
    """Each character is put between letters, where it joins or separates them, so one wrong bit of a table shows.

    (Character classes, below, cover GPT-2's pattern in ByteLevel.)
    """
    spelled = json.dumps(component)
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(chars), 32768):
        text = "x".join(chars[start : start + 32768])
        assert _core._testing.pre_tokenize(spelled, text) == reference(spelled).pre_tokenize_str(text)


def with_inserted(component: object, inserted: str, text: str) -> list[tuple[str, tuple[int, int]]]:
    """The pieces that ``tokenizers`` makes of `text` after a normalizer has prepended `inserted`."""
    pieces = PreTokenizedString(text)
    pieces.normalize(lambda part: part.replace(Regex(r"\A"), inserted))
    # Slices keep their offsets, as when a Tokenizer cuts at added tokens.
    reference(json.dumps({"type": "FixedLength", "length": 2**40})).pre_tokenize(pieces)
    reference(json.dumps(component)).pre_tokenize(pieces)
    return [(piece, offsets) for piece, offsets, _ in pieces.get_splits()]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(LEAVES + SEQUENCES[:7]),
    st.text("_ a▁.", min_size=1, max_size=3),
    st.text("ab é漢_ ▁.", min_size=1, max_size=8),
)
def test_text_without_a_place(component: dict[str, Any], inserted: str, text: str) -> None:
    """Inserted text has no place in the original. ``tokenizers`` repeats it if ByteLevel spells it, and panics if other
    text follows in the same piece."""
    spelled = json.dumps(component)
    expected = reference_impl.try_reference(lambda: with_inserted(component, inserted, text))
    if expected is None:
        for aligned in (True, False):
            with pytest.raises(ValueError, match="before the first character"):
                _core._testing.pre_tokenize(spelled, text, inserted=inserted, aligned=aligned)
        return
    assert _core._testing.pre_tokenize(spelled, text, inserted=inserted) == expected
    if '"first"' not in spelled:
        unaligned = _core._testing.pre_tokenize(spelled, text, inserted=inserted, aligned=False)
        assert [piece for piece, _ in unaligned] == [piece for piece, _ in expected]


@pytest.mark.parametrize(
    "component",
    [
        ["Whitespace"],
        {"type": {"Whitespace": None}},
        {"type": "Punctuation", "behavior": {"Removed": None}},
        {"type": "FixedLength", "length": 0},
        {"type": "FixedLength", "length": 2**64 - 1},
    ],
    ids=json.dumps,
)
def test_what_the_reference_loads_and_we_leave_to_it(component: object) -> None:
    reference_impl.stock_with(pre_tokenizer=component)
    with pytest.raises(UnsupportedError):
        _core._testing.pre_tokenize(json.dumps(component), "a")


@pytest.mark.parametrize(
    "component",
    [*SIMPLE, *METASPACES[:6], *SEQUENCES, split("String", "a" * 1000 + "b", "Isolated", False)],
    ids=lambda c: json.dumps(c)[:80],
)
def test_long_text(component: dict[str, Any]) -> None:
    rng = random.Random(5)
    runs = ("a" * 10_000, " " * 10_000, "漢" * 3_000, "a " * 5_000, "a1.é" * 2_000, "a" * 1000 + "b")
    check(component, "".join((*runs, *(rng.choice(ALPHABET) for _ in range(10_000)))))


def test_what_grows_without_end_is_refused() -> None:
    """In a sequence, each ByteLevel spells the bytes of the previous one's result, which doubles the text."""
    check(sequence(*[byte_level(False, False)] * 12), "\u00e9")
    with pytest.raises(VocabularyError, match="1024 bytes"):
        _core._testing.pre_tokenize(json.dumps(sequence(*[byte_level(False, False)] * 60)), "\u00e9")


# -- character classes


@pytest.mark.slow
@pytest.mark.parametrize("flavor", ["oniguruma", "rust_regex"])
def test_classes_equal_the_reference_everywhere(flavor: str) -> None:
    members = measure.oniguruma_members if flavor == "oniguruma" else measure.rust_members
    expected = measure.class_table(members)
    found = _core._testing.char_classes(flavor)
    assert len(found) == 0x110000
    assert [hex(c) for c in range(0x110000) if found[c] != expected[c]][:20] == []
    assert len(set(found)) == 8


@pytest.mark.slow
def test_added_token_classes_equal_the_reference_everywhere() -> None:
    word, space = measure.word_and_space()
    found = _core._testing.added_token_classes()
    assert {c for c in range(0x110000) if found[c] & 1} == word
    assert {c for c in range(0x110000) if found[c] & 2} == space
    assert ord("_") in word
    assert 0x3000 in space

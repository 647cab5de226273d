"""Pre-tokenizers: every kind and option cuts as the reference does, on every code point and on hostile text."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, Regex, Tokenizer
from tokenizers.pre_tokenizers import PreTokenizer

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError

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
    for pattern in (GPT2, QWEN, r"\s+", r"\s", r"[a-z]+", r"\d|\p{P}", r"a*", r"(?=a)", r"(?<=a)b", "", r"\w+|[^\w\s]+")
    for behavior in BEHAVIORS
    for invert in (False, True)
]
SEQUENCES = [
    sequence(),
    sequence(sequence()),
    sequence({"type": "WhitespaceSplit"}, metaspace("▁", "first", True)),
    sequence({"type": "WhitespaceSplit"}, metaspace("▁", "always", True)),
    sequence({"type": "Whitespace"}, {"type": "Digits", "individual_digits": True}, {"type": "Punctuation"}),
    sequence({"type": "UnicodeScripts"}, sequence({"type": "Punctuation", "behavior": "MergedWithPrevious"})),
    sequence({"type": "FixedLength", "length": 3}, metaspace("▁", "first", True), {"type": "FixedLength", "length": 2}),
    sequence(metaspace("▁", "always", True), metaspace("a", "always", True), byte_level(True, True)),
    sequence(metaspace("▁", "first", True), {"type": "FixedLength", "length": 1}, metaspace("_", "first", False)),
    sequence(byte_level(True, True), {"type": "FixedLength", "length": 1}, metaspace("_", "first", True)),
    sequence(byte_level(True, False), byte_level(True, True)),
    sequence(byte_level(False, True), split("String", "Ġ", "MergedWithNext", False)),
    sequence({"type": "Digits", "individual_digits": False}, byte_level(True, True)),
    sequence(split("Regex", GPT2, "Isolated", False), byte_level(False, False)),
    sequence(
        split("Regex", QWEN, "Removed", True), {"type": "Digits", "individual_digits": True}, byte_level(True, False)
    ),
    sequence(split("String", "a", "Removed", False), split("Regex", GPT2, "Contiguous", True), byte_level(False, True)),
    sequence(split("String", "a", "Removed", False), sequence(byte_level(True, False))),
]
COMPONENTS = SIMPLE + METASPACES + LITERALS + REGEXES + SEQUENCES

TEXTS = [
    "",
    " ",
    "   ",
    "a",
    " a",
    "a ",
    "aab aaab aaaab",
    "ababaabaab",
    "Hello, world! It's 12,345.67 -- don't  stop\t\n\n now\r\n",
    "▁▁ ▁a▁ b__c _ d",
    "漢字かなカナー。Yes 京都 ー ー",
    "  Any   Ελληνικά кириллица  ",
    "é́́ n̈ ﬁ ½ ² ٣٤٥ १२३ Ⅷ 一二",
    "😀👩‍👩‍👧‍👦😀 😀",
    "\x00 \x01\x7f\x80\x85\xa0\u1680\u180e\u200b\u2028\u3000\ufeff\ufffd",
    "a-b#&~[]()*+?^$|\\{}a-b#&~[]()*+?^$|\\{}",
    "¿¡«»„“…\u2010 ₠$+<=>^`|~ \u2032″ ・ 、。",
    "\U0010ffff\U00010000\ue000\ud7ff",
    "..a..a. .",
]

ALPHABET = sorted(set("".join(TEXTS)) | set("abcABC 019\t\r\n'\u2019\u017f\u0378\u2fff") | set(map(chr, range(0x250))))
HOSTILE = st.text(
    st.one_of(st.sampled_from("aab  ▁_1é漢😀'."), st.sampled_from(ALPHABET), st.characters(exclude_categories=["Cs"]))
)


def document(component: object) -> str:
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": component,
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        }
    )


@cache
def reference(component: str) -> PreTokenizer:
    return Tokenizer.from_str(document(json.loads(component))).pre_tokenizer


def check(component: object, text: str) -> None:
    spelled = json.dumps(component)
    # A Sequence of nothing keeps the empty piece that an empty text is; it gives no tokens.
    expected = [piece for piece in reference(spelled).pre_tokenize_str(text) if piece[0]]
    assert _core._testing.pre_tokenize(spelled, text) == expected
    raw = _core._testing.pre_tokenize(spelled, text, raw_bytes=True)
    assert [offsets for _, offsets in raw] == [offsets for _, offsets in expected]
    if _core._testing.ends_in_byte_level(spelled):
        assert [spelled_out(piece) for piece, _ in raw] == [piece for piece, _ in expected]
    if '"first"' not in spelled:
        unaligned = _core._testing.pre_tokenize(spelled, text, aligned=False)
        assert [piece for piece, _ in unaligned] == [piece for piece, _ in expected]


@cache
def byte_alphabet() -> list[str]:
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = iter(range(0x100, 0x200))
    return [chr(byte if byte in kept else next(moved)) for byte in range(256)]


def spelled_out(piece: bytes) -> str:
    return "".join(byte_alphabet()[byte] for byte in piece)


@pytest.mark.parametrize("component", COMPONENTS, ids=json.dumps)
def test_examples(component: dict[str, Any]) -> None:
    for text in TEXTS:
        check(component, text)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(COMPONENTS), HOSTILE)
def test_hostile_text(component: dict[str, Any], text: str) -> None:
    check(component, text)


LEAVES = SIMPLE + METASPACES + LITERALS


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.sampled_from(LEAVES), lambda s: st.lists(s, max_size=3).map(lambda m: sequence(*m))), HOSTILE)
def test_any_nesting(component: dict[str, Any], text: str) -> None:
    check(component, text)


@settings(max_examples=300, deadline=None)
@given(st.text("ab", max_size=6), st.text("ab", max_size=40), st.sampled_from(BEHAVIORS), st.booleans())
def test_strings_that_overlap_themselves(needle: str, text: str, behavior: str, invert: bool) -> None:
    check(split("String", needle, behavior, invert), text)


def batches() -> Iterator[list[str]]:
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(chars), 32768):
        yield chars[start : start + 32768]


@pytest.mark.slow
@pytest.mark.parametrize(
    "component",
    [
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "BertPreTokenizer"},
        {"type": "Punctuation"},
        {"type": "Digits", "individual_digits": True},
        byte_level(False, False),
    ],
    ids=lambda c: str(c["type"]),
)
def test_every_code_point(component: dict[str, Any]) -> None:
    """Each character between letters, where it joins them, stands alone or is gone: one wrong bit of a table shows.

    (What GPT-2's pattern of ByteLevel sees is proven in test_unicode and test_pretokenize.)
    """
    spelled = json.dumps(component)
    for chars in batches():
        text = "x".join(chars)
        assert _core._testing.pre_tokenize(spelled, text) == reference(spelled).pre_tokenize_str(text)


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "tools" / "unicode"))
    return importlib.import_module("generate_pre_tokenizers")


@pytest.mark.slow
def test_every_script(generator: ModuleType) -> None:
    """Numbered as they come, the scripts that our cuts show are the reference's for every code point."""
    component = json.dumps({"type": "UnicodeScripts"})

    def cuts(text: str) -> set[int]:
        return {start for _, (start, _) in _core._testing.pre_tokenize(component, text)}

    found = generator.script_table(cuts)
    expected = generator.script_table()
    assert [hex(c) for c in range(0x110000) if found[c] != expected[c]][:20] == []
    assert len(set(found)) > 100


def test_first_looks_at_the_whole_text() -> None:
    first, always, never = (json.dumps(metaspace("▁", scheme, True)) for scheme in ("first", "always", "never"))
    assert _core._testing.pre_tokenize(first, "a b") == _core._testing.pre_tokenize(always, "a b")
    assert _core._testing.pre_tokenize(first, "a b", base=1) == _core._testing.pre_tokenize(never, "a b")
    assert _core._testing.pre_tokenize(never, "a b") != _core._testing.pre_tokenize(always, "a b")
    # Without alignments the text counts as unchanged.
    assert [piece for piece, _ in _core._testing.pre_tokenize(first, "a b", aligned=False)] == ["▁a", "▁b"]
    assert [piece for piece, _ in _core._testing.pre_tokenize(first, "a b", aligned=False, base=1)] == ["a", "▁b"]


def with_inserted(component: object, inserted: str, text: str) -> list[tuple[str, tuple[int, int]]]:
    """What the reference makes of a text that a normalizer put something before."""
    pieces = PreTokenizedString(text)
    pieces.normalize(lambda part: part.replace(Regex(r"\A"), inserted))
    # Slices of a text know where they come from, as they do when a Tokenizer cuts at added tokens.
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
    """The reference repeats inserted text that ByteLevel spells, and panics where more follows in the piece."""
    spelled = json.dumps(component)
    try:
        expected = with_inserted(component, inserted, text)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        for aligned in (True, False):
            with pytest.raises(ValueError, match="before the first character"):
                _core._testing.pre_tokenize(spelled, text, inserted=inserted, aligned=aligned)
        return
    assert _core._testing.pre_tokenize(spelled, text, inserted=inserted) == expected
    if '"first"' not in spelled:
        unaligned = _core._testing.pre_tokenize(spelled, text, inserted=inserted, aligned=False)
        assert [piece for piece, _ in unaligned] == [piece for piece, _ in expected]


def test_text_without_a_place_in_bytes() -> None:
    component = json.dumps(byte_level(False, True))
    assert _core._testing.pre_tokenize(component, "ab", raw_bytes=True, inserted="_") == [
        (b"__", (0, 0)),
        (b"ab", (0, 2)),
    ]
    with pytest.raises(ValueError, match="ByteLevel cannot spell"):
        _core._testing.pre_tokenize(component, "ab", raw_bytes=True, inserted="\u2581")


def test_raw_bytes() -> None:
    last = sequence(split("Regex", QWEN, "Isolated", False), byte_level(True, False))
    assert _core._testing.pre_tokenize(json.dumps(last), "é 漢", raw_bytes=True) == [
        (" é".encode(), (0, 1)),
        (" 漢".encode(), (1, 3)),
    ]
    # One that is not the last spells, whatever the last one does.
    twice = sequence(byte_level(False, False), byte_level(False, True))
    assert _core._testing.pre_tokenize(json.dumps(twice), "é", raw_bytes=True) == [
        ("Ã©".encode()[:2], (0, 1)),
        ("Ã©".encode()[2:], (0, 1)),
    ]
    assert _core._testing.pre_tokenize(
        json.dumps(sequence(byte_level(False, False), {"type": "Whitespace"})), "é", raw_bytes=True
    )


def test_ends_in_byte_level() -> None:
    byte, white = byte_level(True, True), {"type": "Whitespace"}
    for component in (byte, sequence(byte), sequence(white, byte), sequence(white, sequence(white, byte))):
        assert _core._testing.ends_in_byte_level(json.dumps(component))
    for component in (
        white,
        sequence(),
        sequence(byte, white),
        sequence(byte, byte),
        sequence(sequence(byte), byte),
        sequence(byte, sequence()),
        sequence(sequence(byte, white)),
    ):
        assert not _core._testing.ends_in_byte_level(json.dumps(component))


ODD: list[object] = [
    {"type": "ByteLevel"},
    {"type": "ByteLevel", "add_prefix_space": True},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
    {"add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": None},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "extra": [1]},
    {"type": "ByteLevel", "add_prefix_space": 1, "trim_offsets": True},
    {"type": "ByteLevel", "add_prefix_space": None, "trim_offsets": True},
    {"type": "Metaspace"},
    *({"type": "Metaspace", "replacement": text} for text in ("_", "__", "", " ", None, 5)),
    *({"type": "Metaspace", "replacement": "_", "add_prefix_space": value} for value in (True, False, None, 0)),
    *(
        {"type": "Metaspace", "replacement": "_", "add_prefix_space": value, "prepend_scheme": scheme}
        for value in (True, False, None)
        for scheme in ("always", "first", "never", "First", None, "")
    ),
    *({"type": "Metaspace", "replacement": "_", "split": value} for value in (True, False, None, 0)),
    *({"type": "Metaspace", "replacement": "_", "str_rep": value} for value in ("xx", None, 5)),
    {"replacement": "_", "add_prefix_space": True},
    *({"type": "Punctuation", "behavior": value} for value in ("Removed", "removed", None, 1)),
    {"behavior": "Removed"},
    {"type": "Digits"},
    {"type": "Digits", "individual_digits": None},
    {"individual_digits": True},
    {"type": "CharDelimiterSplit"},
    {"type": "CharDelimiterSplit", "delimiter": "--"},
    {"type": "Delimiter", "delimiter": "-"},
    {"delimiter": "-"},
    *({"type": "FixedLength", "length": value} for value in (3, -1, 3.0, None, "3", 2**63 - 1, 2**64, 1e19)),
    {"length": 3},
    {"type": "Whitespace", "x": 1},
    {"type": "whitespace"},
    {"type": None},
    {"type": 5},
    {},
    "Whitespace",
    3,
    True,
    {"type": "Sequence"},
    {"type": "Sequence", "pretokenizers": None},
    {"type": "Sequence", "pretokenizers": [None]},
    {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "whitespace"}]},
    {"pretokenizers": []},
    {"type": "Split", "pattern": "-", "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed"},
    {"type": "Split", "pattern": {"String": "-"}, "invert": False},
    {"type": "Split", "pattern": {"String": "-"}, "behavior": "removed", "invert": False},
    {"type": "Split", "pattern": {"String": "-", "Regex": "-"}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"Strings": "-"}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"String": 5}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed", "invert": False},
    {"pattern": {"String": "-"}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed", "invert": False, "zz": None},
]


@pytest.mark.parametrize("component", ODD, ids=json.dumps)
def test_odd_components_are_read_or_refused_alike(component: object) -> None:
    try:
        Tokenizer.from_str(document(component))
    except Exception:  # the reference raises Exception itself
        with pytest.raises(VocabularyError) as refusal:
            _core._testing.pre_tokenize(json.dumps(component), "a")
        assert refusal.type in (VocabularyError, UnsupportedError)
    else:
        check(component, " ab-c  d1 _")


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
    Tokenizer.from_str(document(component))
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
    """ByteLevel spells the bytes of what it has spelled, and so doubles it each time."""
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    for count, is_let in ((12, True), (60, False)):
        component = {"type": "Sequence", "pretokenizers": [step] * count}
        if is_let:
            check(component, "\u00e9")
            continue
        with pytest.raises(VocabularyError, match="the pre-tokenizer makes more than 1024 bytes of each byte"):
            _core._testing.pre_tokenize(json.dumps(component), "\u00e9")

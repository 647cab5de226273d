"""Every decoder of ``tokenizers``, one by one and in sequences: from tokens' strings to text."""

from __future__ import annotations

import itertools
import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError

Component = Any

PIECES = [
    "a",
    "##b",
    "#",
    "\u2581",
    "\u2581a\u2581",
    " ",
    "  ",
    "</w>",
    "a</w>",
    "<pad>",
    "|",
    ".",
    " .",
    " ' ",
    " n't",
    "do not",
    " 's 've",
    "\u0120",
    "\u0120a\u010a",
    "\u00c3",
    "\u00a9",
    "\u00ff",
    "\u4e2d",
    "\U0001f642",
    "e\u0301",
    "\x00",
    "<0x41>",
    "<0xE4>",
    "<0xB8>",
    "<0xad>",
    "<0x+1>",
    "<0x-1>",
    "<0xG1>",
    "<0x\u00e9>",
    "<0x41",
    "HHeyH",
]
STRINGS = st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=3).map("".join)
TOKENS = st.lists(STRINGS | st.sampled_from(PIECES), max_size=8)
CHARACTERS = st.sampled_from([" ", "\u2581", "H", "a", "\u4e2d", "\U0001f642", "\x00"])
COUNTS = st.integers(0, 3)


def component(type_name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Component]:
    return st.fixed_dictionaries({"type": st.just(type_name), **fields})


KINDS = {
    "ByteLevel": component("ByteLevel", add_prefix_space=st.booleans(), trim_offsets=st.booleans()),
    "WordPiece": component("WordPiece", prefix=st.sampled_from(["##", "", "\u4e2d"]) | STRINGS, cleanup=st.booleans()),
    "Metaspace": component(
        "Metaspace",
        replacement=CHARACTERS,
        prepend_scheme=st.sampled_from(["always", "first", "never"]),
        split=st.booleans(),
    ),
    "BPEDecoder": component("BPEDecoder", suffix=st.sampled_from(["</w>", "", "a"]) | STRINGS),
    "CTC": component(
        "CTC",
        pad_token=st.sampled_from(["<pad>", ""]) | STRINGS,
        word_delimiter_token=st.sampled_from(["|", ""]) | STRINGS,
        cleanup=st.booleans(),
    ),
    "ByteFallback": component("ByteFallback"),
    "Fuse": component("Fuse"),
    "Strip": component("Strip", content=CHARACTERS, start=COUNTS, stop=COUNTS),
    "Replace": component(
        "Replace",
        pattern=st.fixed_dictionaries({"String": st.sampled_from(["\u2581", "", "a", "aa", "$", "."]) | STRINGS}),
        content=st.sampled_from([" ", "", "$1", "\\1"]) | STRINGS,
    ),
}
SEQUENCES = st.recursive(
    st.one_of(*KINDS.values()),
    lambda parts: component("Sequence", decoders=st.lists(parts, max_size=3)),
    max_leaves=5,
)


@lru_cache(maxsize=1)
def document() -> str:
    return Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str()


def load(text: str) -> Any:
    """The reference's decoder."""
    whole = document().replace('"decoder":null', '"decoder":' + text, 1)
    assert text in whole
    return Tokenizer.from_str(whole).decoder


def reference(text: str, tokens: list[str]) -> str | None:
    """What the reference makes of the tokens, or None where it panics."""
    decoder = load(text)
    try:
        decoded: str = decoder.decode(tokens)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None
    return decoded


def check(decoder: Component, tokens: list[str]) -> None:
    text = json.dumps(decoder, ensure_ascii=False)
    want = reference(text, tokens)
    if want is None:
        with pytest.raises(ValueError, match="Strip"):
            _core._testing.decode_tokens(text, tokens)
        return
    assert _core._testing.decode_tokens(text, tokens) == want
    assert "".join(_core._testing.decode_chain(text, tokens)) == want


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_each_kind(kind: str, data: st.DataObject) -> None:
    check(data.draw(KINDS[kind]), data.draw(TOKENS))


@settings(max_examples=250, deadline=None)
@given(SEQUENCES, TOKENS)
@example({"type": "Sequence", "decoders": []}, ["a", "b"])
def test_sequences(decoder: Component, tokens: list[str]) -> None:
    check(decoder, tokens)


LLAMA = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *(f"<0x{b:02X}>" for b in "\u4e2d\U0001f642a".encode())]), max_size=12))
def test_the_decoder_of_llama(tokens: list[str]) -> None:
    check(LLAMA, tokens)


def test_every_byte_token() -> None:
    fallback = {"type": "ByteFallback"}
    for byte in range(256):
        for form in ("<0x{:02X}>", "<0x{:02x}>"):
            check(fallback, [form.format(byte)])
            check(fallback, ["<0xE4>", form.format(byte), "<0xAD>"])
    letters = "0123456789abcdefgABCDEFG+- \u00e9"
    for pair in itertools.product(letters, repeat=2):
        check(fallback, ["<0x" + "".join(pair) + ">"])


def test_every_character_of_the_byte_level_alphabet() -> None:
    decoder = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    for code in range(0x180):
        check(decoder, [chr(code)])
        check(decoder, ["\u00e4\u00b8", chr(code), "\u00ad"])


@pytest.mark.parametrize("stop", range(5))
@pytest.mark.parametrize("start", range(5))
def test_strip_at_both_ends(start: int, stop: int) -> None:
    for token in ("", " ", "  ", "   ", "    ", " a", "a ", "  a  ", "    a    ", "\u4e2d ", " \u4e2d"):
        check({"type": "Strip", "content": " ", "start": start, "stop": stop}, [token])
        check({"type": "Strip", "content": "\u4e2d", "start": start, "stop": stop}, [token.replace(" ", "\u4e2d")])


@pytest.mark.parametrize(
    "pattern", ["a+", "x*", "", "^a", "a$", "\\s+", "(l)(e)", "l(?=e)", "[\u2581 ]", "(?i)A", "\\b"]
)
@pytest.mark.parametrize("content", ["", "-", "$1$0", "\\1"])
def test_regular_expressions(pattern: str, content: str) -> None:
    decoder = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
    for tokens in (["le", "xle", "aab", ""], ["a\na", "xx", "axxb", "\u2581a b"], ["\u4e2da", "\U0001f642 "], [""]):
        check(decoder, tokens)


# -- what is read from JSON

META = {"type": "Metaspace", "replacement": "\u2581"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
CTC = {"pad_token": "a", "word_delimiter_token": "|", "cleanup": True}
FORMS: list[Component] = [
    {"suffix": "a"},
    {"type": "Foo", "suffix": "a"},
    {"type": "BPEDecoder"},
    {"type": "BPEDecoder", "suffix": None},
    {"type": "BPEDecoder", "suffix": "a", "other": 1},
    {"type": ["Fuse"], "suffix": "a"},
    {"type": None, "suffix": "a"},
    {"type": "ByteLevel"},
    {**BYTES, "use_regex": None},
    {**BYTES, "use_regex": False},
    {**BYTES, "use_regex": 1},
    {**BYTES, "type": "Foo"},
    {"add_prefix_space": True, "trim_offsets": True},
    {"type": "WordPiece", "prefix": "##"},
    {"type": "WordPiece", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": "yes"},
    {"prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "a", "cleanup": True, "suffix": "a"},
    {"prefix": "a", "cleanup": True, "pad_token": "p", "word_delimiter_token": "|"},
    META,
    {"type": "Metaspace"},
    *({**META, "replacement": r} for r in ("__", "", None, 3, "\u4e2d\u4e2d", "\u4e2d")),
    *({**META, "add_prefix_space": a} for a in (True, False, None, 1)),
    *(
        {**META, "add_prefix_space": a, "prepend_scheme": s}
        for a in (True, False)
        for s in ("always", "first", "never", "Always", "sometimes", None)
    ),
    *({**META, "prepend_scheme": s} for s in ("always", "first", "never", "sometimes", None, 3)),
    *({**META, "split": s} for s in (True, False, None, 1)),
    *({**META, "str_rep": s} for s in ("x", None, 3)),
    {**META, "type": "Foo"},
    {"replacement": "\u2581"},
    CTC,
    {**CTC, "type": "CTC"},
    {**CTC, "type": "CTC", "cleanup": None},
    {"type": "CTC"},
    {"type": "ByteFallback"},
    {"type": "Fuse", "other": 1},
    {"type": "fuse"},
    {"type": "Nope"},
    {"type": 3},
    {},
    3,
    "Fuse",
    True,
    STRIP,
    {"content": " ", "start": 1, "stop": 0},
    *({**STRIP, "content": c} for c in ("ab", "", None, 3)),
    *({**STRIP, "start": n} for n in (-1, "1", None, 2**62)),
    {"type": "Strip", "content": " ", "start": 1},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
    {"pattern": {"String": "a"}, "content": "b"},
    *(
        {"type": "Replace", "pattern": p, "content": "b"}
        for p in ("a", None, {}, {"string": "a"}, {"String": 3}, {"String": "a", "Other": "b"})
    ),
    {"type": "Replace", "pattern": {"String": "a"}},
    {"type": "Replace", "pattern": {"String": "a"}, "content": None},
    {"type": "Sequence", "decoders": []},
    {"decoders": []},
    {"type": "Sequence"},
    {"type": "Sequence", "decoders": None},
    {"type": "Sequence", "decoders": {"type": "Fuse"}},
    {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"suffix": "a"}]},
    {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Nope"}]},
    {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [META]}]},
    {"type": "Sequence", "decoders": [3]},
]
TEXTS = [json.dumps(form, ensure_ascii=False) for form in FORMS] + [
    '{"type": "BPEDecoder", "suffix": "x", "suffix": "a"}',
    '{"type": "Fuse", "type": "ByteFallback"}',
    '{"type": "WordPiece", "prefix": "x", "prefix": "a", "cleanup": true}',
    '{"type": "Metaspace", "replacement": "\\u2581"}',
]
SAMPLE = ["##a", "a", "\u2581a a", "|", " .", "<0x41>", "\u4e2d"]


@pytest.mark.parametrize("text", TEXTS)
def test_forms(text: str) -> None:
    """What the reference loads does the same; what it refuses is refused."""
    try:
        load(text)
    except Exception:
        with pytest.raises(VocabularyError, match="decoder"):
            _core._testing.decode_tokens(text, SAMPLE)
    else:
        assert _core._testing.decode_tokens(text, SAMPLE) == reference(text, SAMPLE)


@pytest.mark.parametrize(
    "form",
    [["a"], {"type": {"Fuse": None}}, {**META, "prepend_scheme": {"first": None}}, {**STRIP, "start": 2**63}],
    ids=repr,
)
def test_forms_that_are_left_to_the_reference(form: Component) -> None:
    text = json.dumps(form)
    load(text)
    with pytest.raises(UnsupportedError):
        _core._testing.decode_tokens(text, SAMPLE)


def test_many_and_long_tokens() -> None:
    tokens = ["\u2581word"] * 20000 + ["<0xE4>"] * 20000 + [" " * 100000]
    for decoder in (
        LLAMA,
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "BPEDecoder", "suffix": ""},
    ):
        check(decoder, tokens)


def test_what_grows_without_end_is_refused() -> None:
    """Before the memory for it is taken. A MiB, and 1024 bytes of each, are allowed to anybody."""

    def steps(count: int, content: str, **pattern: str) -> str:
        step = {"type": "Replace", "pattern": pattern, "content": content}
        return json.dumps({"type": "Sequence", "decoders": [step] * count})

    for pattern in ({"String": "a"}, {"Regex": "a"}):
        assert _core._testing.decode_tokens(steps(20, "aa", **pattern), ["a"]) == "a" * 2**20
        for count, content in ((60, "aa"), (2, "a" * 10**6)):
            with pytest.raises(VocabularyError, match="the decoder makes more than 1024 bytes of each byte"):
                _core._testing.decode_tokens(steps(count, content, **pattern), ["a"])
    spaced = {"type": "Sequence", "decoders": [{"type": "BPEDecoder", "suffix": ""}] * 60}
    for endless in (json.dumps(spaced), steps(60, "b", String="")):
        with pytest.raises(VocabularyError, match="more than 1024 bytes"):
            _core._testing.decode_tokens(endless, ["a", "b"])


def test_tokens_that_are_no_text() -> None:
    for bad in (["\ud800"], [None], [3], "ab", None):
        with pytest.raises((TypeError, UnicodeEncodeError)):
            _core._testing.decode_tokens('{"type": "Fuse"}', bad)

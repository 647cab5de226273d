"""The engine's decoders turn tokens into text as every decoder of ``tokenizers`` does, single and in sequences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.support import reference_impl

Component = Any

_PIECES = """a ##b # \u2581 \u2581a\u2581 </w> a</w> <pad> | . \u0120 \u0120a\u010a \u00c3 \u00a9 \u00ff
\u4e2d \U0001f642 e\u0301 \x00 <0x41> <0xE4> <0xB8> <0xad> <0x+1> <0x-1> <0xG1> <0x\u00e9> <0x41 HHeyH"""
PIECES = [*_PIECES.split(), " ", "  ", " .", " ' ", " n't", "do not", " 's 've"]
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
        pattern=st.fixed_dictionaries({"String": st.sampled_from(["\u2581", "", "a", "aa", "$", "."]) | STRINGS})
        | st.fixed_dictionaries({"Regex": st.sampled_from(["a+", "x*", "", "^a", "a$", "(l)(e)", "l(?=e)", "\\b"])}),
        content=st.sampled_from([" ", "", "$1", "\\1"]) | STRINGS,
    ),
}
SEQUENCES = st.recursive(
    st.one_of(*KINDS.values()),
    lambda parts: component("Sequence", decoders=st.lists(parts, max_size=3)),
    max_leaves=5,
)


def reference(text: str, tokens: list[str]) -> Any:
    """The text that the decoder (`text` is its JSON) of ``tokenizers`` makes of the tokens, or None if it panics."""
    decoder = reference_impl.stock_with(decoder=json.loads(text)).decoder
    return reference_impl.try_reference(lambda: decoder.decode(tokens))


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


def test_every_byte_token() -> None:
    for byte in range(256):
        for form in ("<0x{:02X}>", "<0x{:02x}>"):
            check({"type": "ByteFallback"}, ["<0xE4>", form.format(byte), "<0xAD>"])


# -- reading JSON

META = {"type": "Metaspace", "replacement": "\u2581"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
SAMPLE = ["##a", "a", "\u2581a a", "|", " .", "<0x41>", "\u4e2d"]


@pytest.mark.parametrize(
    "form",
    [["a"], {"type": {"Fuse": None}}, {**META, "prepend_scheme": {"first": None}}, {**STRIP, "start": 2**63}],
    ids=repr,
)
def test_forms_that_are_left_to_the_reference(form: Component) -> None:
    text = json.dumps(form)
    reference_impl.stock_with(decoder=form)
    with pytest.raises(UnsupportedError):
        _core._testing.decode_tokens(text, SAMPLE)


def test_what_grows_without_end_is_refused() -> None:
    """A decoder whose text would grow without end is refused before memory is allocated. 1 MiB, or 1024 bytes for each
    byte of the input, is always allowed."""

    def steps(count: int, content: str, **pattern: str) -> str:
        step = {"type": "Replace", "pattern": pattern, "content": content}
        return json.dumps({"type": "Sequence", "decoders": [step] * count})

    endless = [json.dumps({"type": "Sequence", "decoders": [{"type": "BPEDecoder", "suffix": ""}] * 60})]
    for pattern in ({"String": "a"}, {"Regex": "a"}):
        assert _core._testing.decode_tokens(steps(20, "aa", **pattern), ["a"]) == "a" * 2**20
        endless += [steps(60, "aa", **pattern), steps(2, "a" * 10**6, **pattern)]
    for decoder in (*endless, steps(60, "b", String="")):
        with pytest.raises(VocabularyError, match="1024 bytes"):
            _core._testing.decode_tokens(decoder, ["a", "b"])

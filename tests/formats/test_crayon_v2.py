"""Converting CRAYON's version 2 cartridges: stock tokenizers then gives the longest matches of a plain search."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import UnsupportedError, VocabularyError, _core
from crayon_hf.formats.crayon_v2 import companion_of, read_companion, read_crayon_v2
from tests.support.reference_impl import token_bytes
from tests.support.version_2_files import longest_match


def file_of(keys: Mapping[bytes, int]) -> bytes:
    return _core.write_cartridge_v2(*_core.build_double_array(sorted(keys.items())))


def vocabulary_of(document: bytes) -> dict[bytes, int]:
    vocab = json.loads(document)["model"]["vocab"]
    return {token_bytes(token): id for token, id in vocab.items()}


def check(data: bytes, tokens: list[str] | None, texts: list[str]) -> None:
    """Convert a cartridge, and check that its keys keep their ids, that every byte has a token, and that stock
    tokenizers gives the longest match."""
    converted = read_crayon_v2(data, tokens)
    keys = {key: id for key, id in _core.list_double_array(*_core.read_cartridge_v2(data)) if key}
    vocab = vocabulary_of(converted.tokenizer_json)
    count = max([max(keys.values()) + 1, len(tokens or ())])
    assert converted.reference == "xerv-crayon"
    assert converted.metadata == {"tokens": count}
    assert {token: id for token, id in vocab.items() if id < count} == keys
    new = sorted((id, token) for token, id in vocab.items() if id >= count)
    missing = [bytes([byte]) for byte in range(256) if bytes([byte]) not in keys]
    assert new == list(enumerate(missing, count))
    stock = tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    for text in texts:
        encoding = stock.encode(text)
        assert encoding.ids == longest_match(vocab, text.encode()), text
        assert stock.decode(encoding.ids) == text


TEXTS = ["", "a", "abcab", "Hello, world! It's 2024.\n\n", "naïve 日本語 🙂\u200d\0\t", "the theory of the them " * 20]


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.binary(min_size=1, max_size=4), st.integers(0, 400), min_size=1, max_size=40),
    st.lists(st.text(max_size=30), max_size=4),
)
def test_random_vocabularies(vocabulary, texts):
    unique = {id: key for key, id in vocabulary.items()}
    check(file_of({key: id for id, key in unique.items()}), None, [*texts, "abcab"])


def test_holes_and_names():
    """A repeated token and a token that begins with NUL have no key in the cartridge, so their ids stay unused."""
    tokens = ["!", "dup", "x", "dup", "\0a", "y", ""]
    keys = {b"!": 0, b"x": 2, b"dup": 3, b"y": 5}
    check(file_of(keys), tokens, TEXTS)
    stock = tokenizers.Tokenizer.from_str(read_crayon_v2(file_of(keys), tokens).tokenizer_json.decode())
    assert [stock.id_to_token(id) for id in range(8)] == ["!", None, "x", "dup", None, "y", None, "Ā"]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [(["a"], "has 1 tokens, and b'b' has id 1"), (["a", "c"], "another vocabulary: id 1 is 'c'"), (["", "b"], "id 0")],
)
def test_strings_of_another_vocabulary(tokens, message):
    with pytest.raises(VocabularyError, match=message):
        read_crayon_v2(file_of({b"a": 0, b"b": 1}), tokens)


def test_tokens_that_are_not_utf8():
    """The list beside the cartridge spells bytes that are not UTF-8 as lone surrogates, as Python's `surrogateescape`
    does."""
    keys = {b"a": 0, b"\xff": 1, "日".encode()[:2]: 2}
    tokens = read_companion(json.dumps([key.decode("utf-8", "surrogateescape") for key in keys]).encode())
    check(file_of(keys), tokens, TEXTS)
    with pytest.raises(VocabularyError, match="id 1"):
        read_crayon_v2(file_of(keys), ["a", "\ud800", tokens[2]])


def test_companion_in_both_forms(tmp_path):
    assert read_companion(b'["a", "b"]') == ["a", "b"]
    assert read_companion(b'{"vocab": {"b": 2, "a": 0}}') == ["a", "", "b"]
    assert read_companion(b'{"vocab": {}}') == []
    (tmp_path / "x.json").write_text("[]")
    assert companion_of(str(tmp_path / "x.dat")) == str(tmp_path / "x.json")
    assert companion_of(str(tmp_path / "y.dat")) is companion_of(str(tmp_path / "x.json")) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[1]", b'["a", null]', b'{"vocab": {"a": -1}}', b'{"vocab": {"a": 2000000000}}', b"[" * 100_000],
)
def test_damaged_companion(data):
    with pytest.raises(VocabularyError, match="version 2"):
        read_companion(data)


def test_what_cannot_be_read():
    for keys, error in (({}, VocabularyError), ({b"a": 2**31 - 1}, UnsupportedError)):
        with pytest.raises(error, match=r"no tokens|an id of"):
            read_crayon_v2(file_of(keys), None)
    base, check, values = _core.build_double_array([(b"a", 0), (b"b", 1)])
    values[values == 1] = 0
    with pytest.raises(UnsupportedError, match="same id"):
        read_crayon_v2(_core.write_cartridge_v2(base, check, values), None)

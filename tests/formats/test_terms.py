"""A vocabulary made of a list of terms: longest match over bytes, with equal ids in stock tokenizers and in our
engine."""

from __future__ import annotations

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import Tokenizer, VocabularyError
from crayon_hf.formats import write
from crayon_hf.formats.terms import from_terms
from tests.support.version_2_files import longest_match

letters = st.text("abcé ", max_size=12)


@settings(max_examples=100, deadline=None)
@given(st.lists(letters.filter(bool), max_size=20), letters)
def test_longest_match(terms, text):
    tokens = list(dict.fromkeys([bytes([b]) for b in range(256)] + [term.encode() for term in terms]))
    ids = longest_match({token: id for id, token in enumerate(tokens)}, text.encode())
    converted = from_terms(terms)
    stock = tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    ours = Tokenizer.from_str(converted.tokenizer_json.decode())
    assert stock.get_vocab_size() == len(tokens)
    assert stock.encode(text).ids == ours.encode(text).ids == ids
    assert ours.decode(ids) == text


def test_ids(tmp_path):
    """The first ids are those of single bytes; the terms follow in order, each once. A term may be bytes that are not
    UTF-8."""
    write(from_terms(["energy", " energy", "x", b"\xe2\x88", "energy", "µ"]), tmp_path)
    tokenizer = Tokenizer.from_file(tmp_path)
    assert tokenizer.engine_report()["engine"] == "native"
    assert tokenizer.get_vocab_size() == 256 + 4
    assert tokenizer.encode("energy energy").ids == [256, 257]
    assert tokenizer.encode("x").ids == [ord("x")]
    assert tokenizer.encode("µ∂∑").ids == [259, 258, 0x82, 258, 0x91]


def test_bad_terms():
    with pytest.raises(TypeError, match="not int"):
        from_terms([5])
    with pytest.raises(VocabularyError, match="empty"):
        from_terms(["a", ""])
    with pytest.raises(VocabularyError, match="surrogate"):
        from_terms(["\ud800"])

"""What is no text cannot be encoded, and the error says which item is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf.errors import InvalidUtf8Error
from tests.support import reference_impl
from tests.support.encode_shapes import SURROGATES, opened

cpu = reference_impl.cpu


@pytest.fixture(scope="module")
def gpt2_both(cpu: str) -> reference_impl.Both:
    return opened("gpt2", cpu)


# -- what is no text


ILL_FORMED = [
    *(
        b"\x80",
        b"\xbf",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xc3",
        b"\xc3(",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xe4\xb8",
        b"\xe4\xb8a",
        b"\xed\xa0\x80",
    ),
    *(
        b"\xed\xbf\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf0\x9f\x99",
        b"\xf0\x9f",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xfe",
        b"\xff",
    ),
]


@pytest.mark.parametrize("bad", ILL_FORMED, ids=lambda bad: bad.hex())
def test_ill_formed_utf8_is_named(gpt2_both: reference_impl.Both, bad: bytes) -> None:
    engine = gpt2_both.engine
    for before in (b"", b"a", b"a" * 15, b"a" * 16, b"a" * 31, b"\xc3\xa9" * 9, b"a" * 100 + "\U0001f642".encode()):
        for after in (b"", b"a", b"a" * 40):
            data = before + bad + after
            with pytest.raises(UnicodeDecodeError) as python:
                data.decode()
            offset = rf"offset {python.value.start}\b"
            with pytest.raises(InvalidUtf8Error, match=f"^text is not UTF-8.*{offset}"):
                engine.encode_ids(data)
            for call in (engine.encode_ragged, engine.count_tokens):
                with pytest.raises(InvalidUtf8Error, match=f"item 2 of the batch is not UTF-8.*{offset}"):
                    call(["a", b"a", data, b"\xff"])
            assert engine.decode_bytes(engine.encode_bytes(data)) == data


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=50) | st.text(max_size=20).map(str.encode).map(lambda data: data[:-1]))
def test_utf8_as_python_reads_it(gpt2_both: reference_impl.Both, data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(InvalidUtf8Error, match=rf"offset {error.start}\b"):
            gpt2_both.engine.encode_ids(data)
    else:
        assert gpt2_both.engine.encode_ids(data) == gpt2_both.engine.encode_ids(data.decode())


@pytest.mark.parametrize("bad", [None, 1, 1.5, b"a", ["a"], object(), bytearray(b"a"), np.str_])
def test_types_that_are_no_text(gpt2_both: reference_impl.Both, bad: Any) -> None:
    engine = gpt2_both.engine
    name = type(bad).__name__
    with pytest.raises(TypeError, match=f"^sequence is {name}, expected str"):
        engine.encode(bad)
    with pytest.raises(TypeError, match=r"^word 1 of sequence is "):
        engine.encode(["a", bad], is_pretokenized=True)
    with pytest.raises(TypeError, match=r"^word 0 of pair is "):
        engine.encode(["a"], [bad], is_pretokenized=True)
    if bad is not None:
        with pytest.raises(TypeError, match=f"^pair is {name}"):
            engine.encode("a", bad)
    if not isinstance(bad, (bytes, list)):
        with pytest.raises(TypeError, match=f"^text is {name}, expected str or bytes"):
            engine.encode_ids(bad)
        for call in (engine.encode_ragged, engine.count_tokens):
            with pytest.raises(TypeError, match=f"^item 3 of the batch is {name}"):
                call(["a", "\u00e9", b"a", bad])
    if not isinstance(bad, list):
        with pytest.raises(TypeError, match=f"item 1 of the batch is {name}"):
            engine.encode_batch(["a", bad])
    with pytest.raises(TypeError, match="second sequence of item 2 of the batch"):
        engine.encode_batch(["a", "b", ("c", bad)])


def test_sequences_of_other_forms(gpt2_both: reference_impl.Both) -> None:
    engine = gpt2_both.engine
    for call in (engine.encode_ragged, engine.count_tokens):
        for bad in ("abc", b"abc", 1, None, {"a"}, iter(["a"])):
            with pytest.raises(TypeError, match=f"^texts is {type(bad).__name__}, expected a list"):
                call(bad)
        call(("a", "b"))
    for bad in ("abc", None, 7):
        with pytest.raises(TypeError, match=r"^input is "):
            engine.encode_batch(bad)
    with pytest.raises(TypeError, match=r"^item 0 of the batch has 3 sequences"):
        engine.encode_batch([("a", "b", "c")])
    with pytest.raises(TypeError, match=r"^sequence is str, expected a list"):
        engine.encode("a b", is_pretokenized=True)
    with pytest.raises(TypeError, match="bytes"):
        engine.encode(b"a")
    with pytest.raises(TypeError, match="encode_bytes"):
        engine.encode(b"a")
    with pytest.raises(TypeError):
        engine.encode_bytes("a")


class Text(str):
    """A str of another class is a str."""


def test_subclasses_of_str(gpt2_both: reference_impl.Both) -> None:
    engine = gpt2_both.engine
    want = engine.encode_ids("the nation\u00e9")
    for text in (Text("the nation\u00e9"), np.str_("the nation\u00e9")):
        assert engine.encode_ids(text) == want
        assert engine.encode(text).ids == want
        assert engine.encode_ragged([text])[0].tolist() == want


# -- lone surrogates


@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
def test_lone_surrogates_are_no_text(gpt2_both: reference_impl.Both, text: str) -> None:
    """As to the reference, which refuses them with a TypeError or a UnicodeEncodeError; the item is named."""
    engine = gpt2_both.engine
    assert reference_impl.try_reference(lambda: gpt2_both.reference.encode(text)) is None
    with pytest.raises(TypeError, match=r"^text has a lone surrogate"):
        engine.encode_ids(text)
    with pytest.raises(TypeError, match=r"^sequence has a lone surrogate"):
        engine.encode(text)
    with pytest.raises(TypeError, match=r"^item 1 of the batch has a lone surrogate"):
        engine.encode_ragged(["a", text])
    with pytest.raises(TypeError, match="item 1 of the batch has a lone surrogate"):
        engine.encode_batch(["a", text])
    with pytest.raises(TypeError, match="word 1 of the first sequence of item 0 of the batch has a lone surrogate"):
        engine.encode_batch([(["a", text], ["b"])], is_pretokenized=True)

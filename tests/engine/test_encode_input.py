"""Inputs other than text are refused, and the error says which item is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error
from tests.components.test_pre_tokenizers import byte_level, sequence
from tests.support import reference_impl
from tests.support.encode_shapes import SURROGATES, opened

cpu = reference_impl.cpu


@pytest.fixture(scope="module")
def gpt2_both(cpu: str) -> reference_impl.Both:
    return opened("gpt2", cpu)


_ILL_FORMED = """80 bf c080 c1bf c3 c328 e08080 e09fbf e4b8 e4b861 eda080 edbfbf f0808080 f08fbfbf f09f99 f09f f4908080
f5808080 fe ff"""
ILL_FORMED = list(map(bytes.fromhex, _ILL_FORMED.split()))


@pytest.mark.parametrize("bad", ILL_FORMED, ids=lambda bad: bad.hex())
def test_ill_formed_utf8_is_named(gpt2_both: reference_impl.Both, bad: bytes) -> None:
    engine = gpt2_both.engine
    for before in (b"", b"a" * 15, b"a" * 31, b"a" * 100 + "\U0001f642".encode()):
        for after in (b"", b"a" * 40):
            data = before + bad + after
            with pytest.raises(UnicodeDecodeError) as python:
                data.decode()
            offset = rf"offset {python.value.start}\b"
            with pytest.raises(InvalidUtf8Error, match=f"^text is not UTF-8.*{offset}"):
                engine.encode_ids(data)
            for call in (engine.encode_ragged, engine.count_tokens):
                with pytest.raises(InvalidUtf8Error, match=f"item 2 of the batch is not UTF-8.*{offset}"):
                    call(["a", b"a", data, b"\xff"])
            for each in (engine, digits_apart()):
                assert each.decode_bytes(each.encode_bytes(data)) == data


@cache
def digits_apart() -> _core.Engine:
    """An engine with byte tables whose pre-tokenizer works on text, so invalid UTF-8 is kept from the pre-tokenizer."""
    steps = sequence({"type": "Digits", "individual_digits": True}, byte_level(False, False))
    return reference_impl.open_engine(reference_impl.byte_level_document(pre_tokenizer=steps))


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


@pytest.mark.parametrize(
    "bad",
    [None, 1, 1.5, object(), bytearray(b"a"), np.str_, *SURROGATES],
    ids=lambda bad: ascii(bad) if isinstance(bad, str) else type(bad).__name__,
)
def test_what_is_no_text_is_named(gpt2_both: reference_impl.Both, bad: Any) -> None:
    """An input that is not text is refused, as by the reference, and our error names the item."""
    engine = gpt2_both.engine
    assert reference_impl.try_reference(lambda: gpt2_both.reference.encode(bad)) is None
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("^text ", lambda: engine.encode_ids(bad)),
        ("^sequence ", lambda: engine.encode(bad)),
        ("word 1 of sequence ", lambda: engine.encode(["a", bad], is_pretokenized=True)),
        ("word 0 of pair ", lambda: engine.encode(["a"], [bad], is_pretokenized=True)),
        ("item 3 of the batch ", lambda: engine.encode_ragged(["a", "\u00e9", b"a", bad])),
        ("item 3 of the batch ", lambda: engine.count_tokens(["a", "\u00e9", b"a", bad])),
        ("item 1 of the batch ", lambda: engine.encode_batch(["a", bad])),
        ("second sequence of item 2 ", lambda: engine.encode_batch(["a", "b", ("c", bad)])),
        ("word 1 of the first sequence ", lambda: engine.encode_batch([(["a", bad], ["b"])], is_pretokenized=True)),
    ]
    if bad is not None:
        calls.append(("^pair ", lambda: engine.encode("a", bad)))
    for where, call in calls:
        with pytest.raises(TypeError, match=where):
            call()


@pytest.mark.parametrize("bad", ["abc", b"abc", 1, None, {"a"}, iter(["a"])], ids=lambda bad: type(bad).__name__)
def test_what_is_no_batch(gpt2_both: reference_impl.Both, bad: Any) -> None:
    engine = gpt2_both.engine
    for call in (engine.encode_ragged, engine.count_tokens):
        with pytest.raises(TypeError, match="texts"):
            call(bad)
        call(("a", "b"))
    with pytest.raises(TypeError, match="3 sequences"):
        engine.encode_batch([("a", "b", "c")])
    with pytest.raises(TypeError, match="list"):
        engine.encode("a b", is_pretokenized=True)
    with pytest.raises(TypeError, match="bytes"):
        engine.encode(b"a")
    with pytest.raises(TypeError):
        engine.encode_bytes("a")


class Text(str):
    """A subclass of str, which all calls accept."""


def test_subclasses_of_str(gpt2_both: reference_impl.Both) -> None:
    engine = gpt2_both.engine
    want = engine.encode_ids("the nation\u00e9")
    for text in (Text("the nation\u00e9"), np.str_("the nation\u00e9")):
        assert engine.encode_ids(text) == want
        assert engine.encode(text).ids == want
        assert engine.encode_ragged([text])[0].tolist() == want

"""Encodings with all their fields equal those of ``tokenizers``, for every type of published vocabulary. Errors name
inputs other than text."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error
from tests.components.test_pre_tokenizers import byte_level, sequence
from tests.support import reference_impl
from tests.support.encode_shapes import PIECES, SHAPES, SURROGATES, opened, vocabulary

cpu = reference_impl.cpu


@pytest.fixture(params=SHAPES, scope="module")
def both(request: pytest.FixtureRequest, cpu: str) -> reference_impl.Both:
    return opened(request.param, cpu)


@pytest.fixture(scope="module")
def gpt2_both(cpu: str) -> reference_impl.Both:
    return opened("gpt2", cpu)


BYTES = st.binary(max_size=100) | st.lists(
    st.sampled_from([b" ", b"\xff", b"\xe4\xb8", b"\xad", b"a", b"'s", b"\xf0\x9f", b"\x80", b"\n", b"1"])
).map(b"".join)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    text=reference_impl.texts_of(PIECES, size=30),
    pair=st.none() | reference_impl.texts_of(PIECES, size=6),
    special=st.booleans(),
    as_text=st.booleans(),
)
def test_texts_of_pieces(both: reference_impl.Both, text: str, pair: str | None, special: bool, as_text: bool) -> None:
    both.check(text, pair, add_special_tokens=special, special_as_text=as_text)


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=60), data=BYTES)
def test_any_text_and_any_bytes(both: reference_impl.Both, text: str, data: bytes) -> None:
    both.check(text)
    both.check([text, text[::2]], is_pretokenized=True)
    ids = both.engine.encode_bytes(data)
    assert both.engine.decode_bytes(ids) == b"".join(map(both.engine.id_to_bytes, ids)) == data


# -- inputs with their own code paths


def test_words_around_the_size_of_keys(gpt2_both: reference_impl.Both) -> None:
    """Words of up to 15 bytes are looked up by keys of 16 bytes. Reading a key must not pass the end of the text."""
    rng = random.Random(7)
    for size in range(1, 40):
        for letters in ("etaoin", "\u0430\u0431\u0432", "\u4e2d\u6587", "q"):
            word = "".join(rng.choices(letters, k=size))
            for text in (word, " " + word, word + " a", f"{word} {word}", f"{word}1"):
                gpt2_both.check(text)
                gpt2_both.check(text)


@pytest.mark.parametrize("word", ["a", " the", "qzx", "\u4e2d", "1 "])
def test_around_the_size_of_blocks(gpt2_both: reference_impl.Both, word: str) -> None:
    """Pretokens are cut and looked up in blocks of 256, so texts have about one, two and four blocks."""
    for count in (*range(254, 259), 511, 512, 513, 1024):
        gpt2_both.check(f"{word}!" * (count // 2) + word * (count % 2))
        gpt2_both.check(f" {word}" * count)


DECOMPOSED = [
    "e\u0301te\u0301",
    "a\u0323\u0307\u0301x",
    "\u1100\u1161\u11a8 \u1100\u1161",
    "q\u0301\u0323 <|end|>e\u0301",
]
SPLIT = [
    "\u4e2d\u9f98\U0001f680x",
    "a\U0001f469\u200d\U0001f4bb\u00e9",
    " \u20ac\u20ac 1\u20ac",
    "\U0001f642\u0301\u0301 \x00",
]


@pytest.mark.parametrize("text", DECOMPOSED + SPLIT)
@pytest.mark.parametrize("shape", ["gpt2", "o200k", "qwen"])
def test_offsets(shape: str, text: str, cpu: str) -> None:
    """Offsets are right for characters that several tokens share, and for characters that normalization joins."""
    opened(shape, cpu).check(text, "e\u0301 " + text, also_lookups=True)
    opened(shape, cpu).check([text, "x", text], is_pretokenized=True, also_lookups=True)


# -- engines of the flavor ``tiktoken`` use its character classes, and treat invalid text as it does


@functools.cache
def rank_file() -> tuple[tiktoken.Encoding, str]:
    """The trained vocabulary of type cl100k, as an encoding of tiktoken and as a tokenizer.json."""
    tokens = sorted(json.loads(vocabulary("cl100k"))["model"]["vocab"].items(), key=lambda item: item[1])
    ranks = sorted({reference_impl.token_bytes(token) for token, _ in tokens} - {b"<|begin|>", b"<|end|>"}, key=len)
    family = "cl100k"
    pattern = _core.canonical_pattern(family)
    reference = tiktoken.Encoding(
        "test",
        pat_str=pattern,
        mergeable_ranks={token: i for i, token in enumerate(ranks)},
        special_tokens={"<|end|>": len(ranks)},
    )
    merges = [(ranks[left], ranks[right]) for left, right, _ in _core.merges_from_ranks(ranks)]
    document = reference_impl.byte_level_document()
    document["model"] |= {
        "vocab": {reference_impl.spell(token): i for i, token in enumerate(ranks)},
        "merges": [[reference_impl.spell(a), reference_impl.spell(b)] for a, b in merges],
        "ignore_merges": True,
    }
    document["pre_tokenizer"] = json.loads(vocabulary("cl100k"))["pre_tokenizer"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    document["added_tokens"] = [{"id": len(ranks), "content": "<|end|>", **flags}]
    return reference, json.dumps(document)


@pytest.fixture(scope="module")
def ranked(cpu: str) -> tuple[tiktoken.Encoding, _core.Engine]:
    reference, text = rank_file()
    return reference, reference_impl.open_engine(text, "rust_regex")


@settings(max_examples=100, deadline=None)
@given(text=reference_impl.texts_of([*PIECES, *SURROGATES], size=15))
def test_tiktoken(ranked: tuple[tiktoken.Encoding, _core.Engine], text: str) -> None:
    """Lone surrogates become U+FFFD, as in tiktoken."""
    reference, engine = ranked
    want = reference.encode(text, allowed_special="all")
    assert engine.encode_ids(text) == want
    assert engine.encode(text).ids == want
    assert engine.encode_ids(text, special_as_text=True) == reference.encode_ordinary(text)
    assert engine.decode_bytes(want) == reference.decode_bytes(want)
    assert engine.decode(want, skip_special_tokens=False) == reference.decode(want)


# -- inputs other than text

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

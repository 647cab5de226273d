"""Decoding gives the text that ``tokenizers`` gives, loses no byte, and refuses invalid ids."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from crayon_hf import _core
from crayon_hf.errors import TokenIdError
from tests.support import reference_impl

cpu = reference_impl.cpu

MERGES = [(b" ", b"a"), (b"\xe4", b"\xb8"), (b"\xb8", b"\xad"), (b"\xf0\x9f", b"\x99"), (b"\xf0", b"\x9f")]
MERGES += [(b"a", b"\xe4"), (b"\x80", b"\x80")]
# Tokens outside the byte alphabet, the empty token, and added tokens of all kinds.
RAW = ["\u4e2d", " ", "", "a b", "\U0001f642", "\u0120 ", "\n"]
ADDED = [
    AddedToken("<s>", special=True),
    AddedToken("<|end|>", special=True, normalized=False),
    AddedToken(" x ", special=False),
    AddedToken("\u00e9", special=True),
    AddedToken("\u4e2d\u6587", lstrip=True),
    AddedToken("\u0120a", special=True),
    AddedToken("\u0120\u010a\u0120"),
    AddedToken("\u4e2d", special=True),
]
HOLE = 400


def make() -> str:
    document = reference_impl.byte_level_document(MERGES, more=RAW, seed=4)
    document["model"]["vocab"]["hole"] = HOLE
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_special_tokens([token for token in ADDED if token.special])
    tokenizer.add_tokens([token for token in ADDED if not token.special])
    return str(tokenizer.to_str())


@pytest.fixture(scope="module")
def both(cpu: str) -> reference_impl.Both:
    return reference_impl.Both(make())


@pytest.fixture(scope="module")
def ids(both: reference_impl.Both) -> list[int]:
    return sorted(both.reference.get_vocab().values())


def check(both: reference_impl.Both, ids: list[int]) -> None:
    vocab = {id: token for token, id in both.reference.get_vocab().items()}
    special = {id for id, token in both.reference.get_added_tokens_decoder().items() if token.special}
    for skip in (True, False):
        want = both.reference.decode(ids, skip)
        assert both.engine.decode(ids, skip) == want
        data = b"".join(reference_impl.token_bytes(vocab[id]) for id in ids if not (skip and id in special))
        assert both.engine.decode_bytes(ids, skip) == data
        assert want == data.decode(errors="replace")


def test_every_id(both: reference_impl.Both, ids: list[int]) -> None:
    for id in ids:
        check(both, [id])
    check(both, ids)
    check(both, ids[::-1] * 3)
    check(both, [])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_ids(both: reference_impl.Both, ids: list[int], data: st.DataObject) -> None:
    check(both, data.draw(st.lists(st.sampled_from(ids), max_size=30)))


def test_incomplete_utf8(both: reference_impl.Both) -> None:
    """Incomplete UTF-8 decodes to one U+FFFD for each longest beginning of a character, as in ``tokenizers``."""
    vocab = both.engine.get_vocab()

    def bytes_ids(data: bytes) -> list[int]:
        return [vocab[reference_impl.BYTE_CHARS[b]] for b in data]

    samples = [
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
        b"\xff\xfe",
        b"\xf8\x88\x80\x80\x80",
        b"\xf0\x80\x80\x80",
    ]
    rng = random.Random(1)
    samples += [
        bytes(rng.choices(b"\xe4\xb8\xad\xf0\x9f\x99\x82\xc3a\x80\xed\xa0\xf4\x8f\x90\xe0\xbf", k=rng.randint(1, 12)))
        for _ in range(500)
    ]
    for data in samples:
        check(both, bytes_ids(data))
        check(both, both.engine.encode_bytes(data))
        assert both.engine.decode_bytes(bytes_ids(data)) == data


def test_a_list_that_an_item_changes(both: reference_impl.Both) -> None:
    """If the `__index__` of an item changes the list of ids during decoding, the text may be wrong, but nothing
    crashes."""

    class Shrinking:
        def __index__(self) -> int:
            ids.clear()  # type: ignore[attr-defined]
            return 7

    ids: list[Any] = [Shrinking(), *range(50)]
    assert both.engine.decode(ids) == both.engine.decode([7])


def ways(engine: _core.Engine) -> list[Callable[[Any], Any]]:
    return [engine.decode, engine.decode_bytes, lambda ids: engine.decode_batch([[0], ids])]


@pytest.mark.parametrize("bad", [-1, HOLE - 1, HOLE + 1, 2**31, 2**32, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30])
def test_numbers_that_are_no_ids(both: reference_impl.Both, bad: int) -> None:
    forms: list[Any] = [[bad], [0, 1, bad], (0, bad)]
    if -(2**63) <= bad < 2**64:
        forms.append(np.array([3, bad], np.int64 if bad < 2**63 else np.uint64))
    for ids in forms:
        for call in ways(both.engine):
            with pytest.raises(TokenIdError, match=str(bad)):
                call(ids)
    if -(2**63) <= bad < 2**63:
        assert (both.engine.id_to_token(bad), both.engine.id_to_bytes(bad)) == (None, None)


NO_IDS = [["1"], [1.0], [None], [[1]], [1 + 0j], [np.float32(1)], 1, "12", b"12", None, np.array(3)]
NO_IDS += [np.ones(3).astype(dtype) for dtype in ("float32", "bool", "U3", "object", "datetime64[s]")]
NO_IDS += [np.array([[1, 2], [3, 4]])]


@pytest.mark.parametrize("bad", NO_IDS, ids=repr)
def test_what_are_no_ids(both: reference_impl.Both, bad: Any) -> None:
    for call in ways(both.engine):
        with pytest.raises(TypeError):
            call(bad)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4"])
def test_arrays(both: reference_impl.Both, dtype: str) -> None:
    ids = [*range(100), 5, 127]
    array = np.array(ids, dtype=dtype)
    want, backwards = both.engine.decode(ids), both.engine.decode(ids[::-1])
    read_only = array.copy()
    read_only.flags.writeable = False
    for form in (
        array,
        np.repeat(array, 2)[::2],
        read_only,
        list(array),
        iter(ids),
        (i for i in ids),
        memoryview(bytes(ids)),
    ):
        assert both.engine.decode(form) == want
    assert both.engine.decode(array[::-1]) == backwards
    assert both.engine.decode_bytes(array) == both.engine.decode_bytes(ids)
    assert both.engine.decode_batch([array, ids, array[:0]]) == [want, want, ""]
    assert both.engine.decode_batch(np.array([ids, ids[::-1]], dtype=dtype)) == [want, backwards]


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_batches(both: reference_impl.Both, ids: list[int], threads: int) -> None:
    rng = random.Random(3)
    sequences = [rng.choices(ids, k=rng.randint(0, 400)) for _ in range(800)]
    for skip in (True, False):
        assert both.engine.decode_batch(sequences, skip, threads) == both.reference.decode_batch(sequences, skip)
    assert both.engine.decode_batch([], threads=threads) == []
    sequences[700] = [*ids, HOLE + 1]
    sequences[750] = [-5]
    with pytest.raises(TokenIdError, match=f"id {HOLE + 1} is"):
        both.engine.decode_batch(sequences, threads=threads)

"""Ids back to text: as the reference does it, without loss, and with an error for what is no id."""

from __future__ import annotations

import json
import random
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

MERGES = [
    (b" ", b"a"),
    (b"\xe4", b"\xb8"),
    (b"\xb8", b"\xad"),
    (b"\xf0\x9f", b"\x99"),
    (b"\xf0", b"\x9f"),
    (b"a", b"\xe4"),
    (b"\x80", b"\x80"),
]
# Strings that no bytes spell, the empty token, and added tokens of all kinds.
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
    """One U+FFFD for each maximal part of a character, as the reference puts them."""
    vocab = both.engine.get_vocab()

    def bytes_ids(data: bytes) -> list[int]:
        return [vocab[reference_impl.BYTE_CHARS[b]] for b in data]

    samples = [
        b"\xe4",
        b"\xe4\xb8",
        b"\xe4\xb8\xad",
        b"\xad",
        b"\xf0\x9f\x99",
        b"\xf0\x9f\x99\x82\xf0",
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
    ]
    samples += [
        b"a\xe4b",
        b"\xe4\xe4\xb8\xe4\xb8\xad",
        b"\xff\xfe",
        b"\xf8\x88\x80\x80\x80",
        b"\xe0\x80\x80",
        b"\xf0\x80\x80\x80",
        b"\xc3",
        b"\xc3\xa9\xc3",
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


def test_text_comes_back(both: reference_impl.Both) -> None:
    # The added token that spells the byte E9 decodes to that byte.
    text = reference_impl.generated_text(random.Random(2), 5000).replace("\u00e9", "e")
    for add in ("", "<s>", "<|end|> "):
        ids = both.engine.encode_ids(text + add)
        assert both.engine.decode(ids, skip_special_tokens=False) == text + add
        check(both, ids)


# -- what is no id


def numbers_that_are_no_ids(both: reference_impl.Both) -> list[int]:
    top = max(both.reference.get_vocab().values())
    assert top == HOLE
    return [
        -1,
        -2,
        HOLE - 1,
        HOLE + 1,
        2**21,
        2**31 - 1,
        2**31,
        2**32 - 1,
        2**32,
        2**32 + 1,
        2**63 - 1,
        -(2**31),
        -(2**63),
    ]


def test_numbers_that_are_no_ids(both: reference_impl.Both) -> None:
    for bad in numbers_that_are_no_ids(both):
        for ids in ([bad], [0, 1, bad, -7], (0, bad), np.array([3, bad], dtype=np.int64)):
            for skip in (True, False):
                for call in (both.engine.decode, both.engine.decode_bytes):
                    with pytest.raises(TokenIdError, match=rf"^id {bad} is not in the vocabulary"):
                        call(ids, skip)
            with pytest.raises(TokenIdError, match=rf"id {bad} is not in the vocabulary"):
                both.engine.decode_batch([[0], ids])
    for bad in (2**63, 2**64, -(2**63) - 1, 10**30):
        for ids in ([bad], [0, bad]):
            for call in (
                both.engine.decode,
                both.engine.decode_bytes,
                lambda ids: both.engine.decode_batch([[0], ids]),
            ):
                with pytest.raises(TokenIdError, match=str(bad)):
                    call(ids)
    assert both.engine.decode([HOLE]) == "hole"


def test_numbers_that_no_lookup_knows(both: reference_impl.Both) -> None:
    for bad in numbers_that_are_no_ids(both):
        assert both.engine.id_to_token(bad) is None
        assert both.engine.id_to_bytes(bad) is None


@pytest.mark.parametrize(
    "bad", ["1", 1.0, None, [1], b"1", 1 + 0j, np.float32(1), object()], ids=lambda x: type(x).__name__
)
def test_items_that_are_no_numbers(both: reference_impl.Both, bad: Any) -> None:
    for ids in ([bad], [1, bad], (1, bad)):
        at = len(ids) - 1
        for call in (both.engine.decode, both.engine.decode_bytes):
            with pytest.raises(
                TypeError, match=rf"^ids\[{at}\] is {type(bad).__name__.split('.')[-1]}|ids\[{at}\] is numpy"
            ):
                call(ids)
        with pytest.raises(TypeError, match=rf"ids\[{at}\] is "):
            both.engine.decode_batch([[1], ids])


@pytest.mark.parametrize("bad", [1, "12", b"12", None, 1.5, np.int64(3), np.array(3)], ids=repr)
def test_arguments_that_are_no_sequences(both: reference_impl.Both, bad: Any) -> None:
    for call in (both.engine.decode, both.engine.decode_bytes):
        with pytest.raises(TypeError):
            call(bad)
    with pytest.raises(TypeError):
        both.engine.decode_batch([[1], bad])
    with pytest.raises(TypeError):
        both.engine.decode_batch(bad)


# -- forms of ids


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4", "<u2"]
)
def test_arrays(both: reference_impl.Both, dtype: str) -> None:
    ids = [*range(100), 5, 127]
    array = np.array(ids, dtype=dtype)
    want = both.engine.decode(ids)
    assert both.engine.decode(array) == want
    assert both.engine.decode_bytes(array) == both.engine.decode_bytes(ids)
    assert both.engine.decode(np.repeat(array, 2)[::2]) == want
    assert both.engine.decode(array[::-1]) == both.engine.decode(ids[::-1])
    assert both.engine.decode_batch([array, ids, array[:0]]) == [want, want, ""]
    assert both.engine.decode(list(array)) == want
    read_only = array.copy()
    read_only.flags.writeable = False
    assert both.engine.decode(read_only) == want
    two_dimensions = np.array([[1, 2], [3, 4]], dtype=dtype)
    assert both.engine.decode_batch(two_dimensions) == [both.engine.decode([1, 2]), both.engine.decode([3, 4])]
    with pytest.raises(TypeError, match="one-dimensional"):
        both.engine.decode(two_dimensions)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "complex64", "U3", "S3", "object", "datetime64[s]"])
def test_arrays_of_no_integers(both: reference_impl.Both, dtype: str) -> None:
    with pytest.raises(TypeError):
        both.engine.decode(np.ones(3).astype(dtype))


def test_unsigned_ids_that_do_not_fit(both: reference_impl.Both) -> None:
    """The largest uint64 is no -1, and is not read as one."""
    for value in (2**63, 2**64 - 1):
        with pytest.raises(TokenIdError, match=str(value)):
            both.engine.decode(np.array([1, value], dtype=np.uint64))


def test_other_sequences_of_numbers(both: reference_impl.Both) -> None:
    class Index:
        def __index__(self) -> int:
            return 7

    want = both.engine.decode([7, 8])
    for ids in (
        (7, 8),
        [Index(), np.int64(8)],
        [np.uint8(7), 8],
        range(7, 9),
        iter([7, 8]),
        (i for i in (7, 8)),
        memoryview(b"\7\10"),
    ):
        assert both.engine.decode(ids) == want
    assert both.engine.decode([True, False]) == both.engine.decode([1, 0])


def test_a_list_that_an_item_changes(both: reference_impl.Both) -> None:
    """What an item's __index__ does to the list is its own fault, but no crash."""

    class Shrinking:
        def __index__(self) -> int:
            ids.clear()  # type: ignore[attr-defined]
            return 7

    ids: list[Any] = [Shrinking(), *range(50)]
    assert both.engine.decode(ids) == both.engine.decode([7])


# -- batches


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.parametrize("threads", [0, 1, 2, 8])
def test_batches(both: reference_impl.Both, ids: list[int], threads: int) -> None:
    rng = random.Random(3)
    sequences = [rng.choices(ids, k=rng.randint(0, 400)) for _ in range(800)]
    for skip in (True, False):
        assert both.engine.decode_batch(sequences, skip, threads) == both.reference.decode_batch(sequences, skip)
    assert both.engine.decode_batch(iter(sequences), threads=threads) == both.reference.decode_batch(sequences)
    assert both.engine.decode_batch([], threads=threads) == []
    assert both.engine.decode_batch([[], []], threads=threads) == ["", ""]
    sequences[700] = [*ids, HOLE + 1]
    sequences[750] = [-5]
    with pytest.raises(TokenIdError, match=f"id {HOLE + 1} is"):
        both.engine.decode_batch(sequences, threads=threads)


def test_special_tokens_are_kept_in_bytes_unless_asked(both: reference_impl.Both) -> None:
    ids = both.engine.encode_ids("<s>a")
    assert both.engine.decode(ids) == "a"
    assert both.engine.decode_bytes(ids) == b"<s>a"


def test_encodings_decode_on_a_trained_vocabulary(any_vocabulary: Any, cpu: str) -> None:
    """The shapes of published vocabularies, on texts with their special tokens in it."""
    text = any_vocabulary.read_text(encoding="utf-8")
    both = reference_impl.Both(text)
    assert both.engine.cpu == cpu
    added = [row["content"] for row in both.engine.added_tokens()]
    for sample in (
        "It's 12345 of them",
        "\u4e2d\u6587 \U0001f642 caf\u00e9",
        *added,
        " ".join(added),
        "a" + "  b ".join(added),
    ):
        for special in (True, False):
            encoded = both.reference.encode(sample, add_special_tokens=special).ids
            for skip in (True, False):
                assert both.engine.decode(encoded, skip) == both.reference.decode(encoded, skip)


def test_decoding_is_of_the_engine_that_is_asked() -> None:
    one = reference_impl.open_engine(reference_impl.byte_level_document(seed=1))
    two = reference_impl.open_engine(reference_impl.byte_level_document(seed=2))
    data = bytes(range(256))
    assert one.encode_bytes(data) != two.encode_bytes(data)
    assert one.decode_bytes(one.encode_bytes(data)) == two.decode_bytes(two.encode_bytes(data)) == data
    assert isinstance(one, _core.Engine)

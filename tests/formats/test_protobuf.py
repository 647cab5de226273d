"""The wire format: against the library that SentencePiece's own Python module uses, and damage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import VocabularyError
from crayon_hf.formats.protobuf import BYTES, FIXED32, VARINT, Field, Message

schema = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

INT32 = st.integers(-(2**31), 2**31 - 1)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


@settings(max_examples=100, deadline=None)
@given(
    st.text(),
    st.floats(width=32, allow_nan=False),
    st.integers(1, 6),
    INT32,
    st.booleans(),
    st.binary(max_size=300),
    st.lists(st.text(max_size=5)),
)
def test_every_kind_of_value(text, score, kind, id, flag, charsmap, symbols):
    proto = schema.ModelProto()
    proto.pieces.add(piece=text, score=score, type=kind)
    proto.trainer_spec.pad_id = id
    proto.trainer_spec.input_sentence_size = 2**64 - 1
    proto.trainer_spec.user_defined_symbols.extend(symbols)
    proto.trainer_spec.byte_fallback = flag
    proto.normalizer_spec.precompiled_charsmap = charsmap
    message = Message(proto.SerializeToString())
    piece, trainer, normalizer = (message.message(field) for field in message)
    assert [(f.number, f.wire) for f in piece] == [(1, BYTES), (2, FIXED32), (3, VARINT)]
    read = {f.number: f for f in piece}
    assert (piece.text(read[1]), piece.float(read[2]), piece.integer(read[3])) == (text, score, kind)
    read = {f.number: f for f in trainer}
    assert (trainer.integer(read[43]), trainer.flag(read[35]), read[11].value) == (id, flag, 2**64 - 1)
    assert [trainer.text(f) for f in trainer if f.number == 31] == symbols
    assert [normalizer.bytes(f) for f in normalizer] == [charsmap]


def test_fields_of_all_kinds_follow_each_other():
    data = (
        varint(1 << 3 | 0) + varint(300) + varint(2 << 3 | 1) + bytes(8) + varint(3 << 3 | 5) + struct.pack("<f", 1.5)
    )
    data += varint((1 << 29) - 1 << 3 | 2) + b"\x02hi"
    assert list(Message(data)) == [
        Field(1, 0, 0, 300, 1, 3),
        Field(2, 1, 3, 0, 4, 12),
        Field(3, 5, 12, 0, 13, 17),
        Field((1 << 29) - 1, 2, 17, 0, 23, 25),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x08", "the number at byte 1 does not end"),
        (b"\x80" * 11, "the number at byte 0 does not end"),
        (b"\x08\x01\x00", "byte 2 of the file starts no field"),
        (b"\x0b", "byte 0 of the file starts a field of an unknown kind"),
        (b"\x0a\x05abc", "the field at byte 0 is longer than the message around it"),
        (b"\x0a\xff\xff\xff\xff\x0fabc", "the field at byte 0 is longer than the message around it"),
        (b"\x0d\x00\x00\x00", "the field at byte 0 is longer than the message around it"),
        (b"\x09\x00", "the field at byte 0 is longer than the message around it"),
    ],
)
def test_damage_is_named_with_its_place(data, message):
    with pytest.raises(VocabularyError, match=message):
        list(Message(data))


def test_a_message_inside_another_cannot_leave_it():
    outer = Message(b"\x0a\x02\x0a\x05" + b"abcdefgh")
    with pytest.raises(VocabularyError, match="the field at byte 2 is longer"):
        list(outer.message(next(iter(outer))))


def test_values_of_another_kind_and_texts_that_are_none():
    message = Message(b"\x0a\x02a\xff")
    field = next(iter(message))
    for read in (message.integer, message.flag, message.float):
        with pytest.raises(VocabularyError, match="field 1 at byte 0 holds bytes instead of"):
            read(field)
    with pytest.raises(VocabularyError, match="the text at byte 3 is not UTF-8"):
        message.text(field)
    number = Message(b"\x08\x01")
    with pytest.raises(VocabularyError, match="holds a number instead of bytes"):
        number.message(next(iter(number)))

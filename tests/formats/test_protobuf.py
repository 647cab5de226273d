"""Our reader of protobuf's wire format reads SentencePiece models as protobuf's own library does, and refuses damaged
data."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import VocabularyError
from crayon_hf.formats.protobuf import BYTES, FIXED32, VARINT, Message

schema = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

INT32 = st.integers(-(2**31), 2**31 - 1)


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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x08", "byte 1 does not end"),
        (b"\x80" * 11, "byte 0 does not end"),
        (b"\x08\x01\x00", "starts no field"),
        (b"\x0b", "unknown kind"),
        (b"\x0a\x05abc", "longer than"),
        (b"\x0d\x00\x00\x00", "longer than"),
        (b"\x09\x00", "longer than"),
    ],
)
def test_damage_is_named_with_its_place(data, message):
    with pytest.raises(VocabularyError, match=message):
        list(Message(data))


def test_values_of_another_kind_and_texts_that_are_none():
    message = Message(b"\x0a\x02\x0a\x05abcdefgh\xff")
    field = next(iter(message))
    with pytest.raises(VocabularyError, match="byte 2 is longer"):
        list(message.message(field))
    for read in (message.integer, message.flag, message.float):
        with pytest.raises(VocabularyError, match="bytes instead of"):
            read(field)
    text, number = Message(b"\x0a\x02a\xff"), Message(b"\x08\x01")
    with pytest.raises(VocabularyError, match="byte 3 is not UTF-8"):
        text.text(next(iter(text)))
    with pytest.raises(VocabularyError, match="instead of bytes"):
        number.message(next(iter(number)))

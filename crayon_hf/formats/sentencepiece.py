"""SentencePiece's ``.model`` files to ``tokenizer.json``.

The ids are those of ``SentencePieceProcessor.encode(text)``: control pieces such as ``<s>`` are neither found in texts
nor put around them. A model does not say whether they should be, so that there is no post-processor; the config names
them, for the classes of transformers. `pieces` says how the rest is expressed.

Facts: sentencepiece_model.proto of SentencePiece 0.2 for the fields, its behaviour for what they do.
"""

from __future__ import annotations

import re
import struct
from contextlib import suppress
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted, Progress, written
from crayon_hf.formats.pieces import CONTROL, NORMAL, UNKNOWN, UNUSED, Piece, PieceOptions, config_of, document_of
from crayon_hf.formats.protobuf import Message

_MODELS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


def read_sentencepiece(data: bytes, progress: Progress | None = None) -> Converted:
    """The vocabulary of a SentencePiece model.

    VocabularyError when the file is damaged; UnsupportedError for models of words, for rules for decoded
    text that meet each other, and for pieces that no ``tokenizer.json`` finds as SentencePiece does.
    """
    pieces: list[Piece] = []
    trainer: dict[str, Any] = {}
    normalizer: dict[str, Any] = {}
    denormalizer: dict[str, Any] = {}
    for field in (message := Message(data)):
        if field.number == 1:
            pieces.append(_piece(message.message(field)))
        elif field.number == 2:
            trainer |= _fields(message.message(field), _TRAINER)
        elif field.number == 3:
            normalizer |= _fields(message.message(field), _NORMALIZER)
        elif field.number == 5:
            denormalizer |= _fields(message.message(field), _NORMALIZER)
    if not pieces:
        raise VocabularyError("not a SentencePiece model: it has no pieces")
    kind = trainer.pop("model_type", 1)
    if kind not in _MODELS:
        raise VocabularyError(f"the model is of an unknown type ({kind})")
    ids = {"bos_id": 1, "eos_id": 2, "pad_id": -1}
    rules = denormalizer.pop("charsmap", b"")
    if rules and (len(denormalizer) < len(_NORMALIZER) - 1 or any(denormalizer.values())):
        raise UnsupportedError("changes of white space in decoded text (denormalizer_spec)")
    options = PieceOptions(**{**ids, **trainer, **normalizer}, decoded_charsmap=rules)
    document = document_of(pieces, _MODELS[kind], options, progress)
    config = config_of(pieces, options)
    # What no text becomes in greedy mode either; a tokenizer.json alone does not say it.
    silent = [id for id, piece in enumerate(pieces) if piece.kind in (UNKNOWN, CONTROL, UNUSED)]
    return Converted(written(document), config, "sentencepiece", metadata={"control": silent})


# Field numbers, and what they are in PieceOptions.
_TRAINER = {
    3: ("model_type", Message.integer),
    24: ("treat_whitespace_as_suffix", Message.flag),
    35: ("byte_fallback", Message.flag),
    41: ("bos_id", Message.integer),
    42: ("eos_id", Message.integer),
    43: ("pad_id", Message.integer),
    44: ("unk_surface", Message.text),
}
_NORMALIZER = {
    2: ("charsmap", Message.bytes),
    3: ("add_dummy_prefix", Message.flag),
    4: ("remove_extra_whitespaces", Message.flag),
    5: ("escape_whitespaces", Message.flag),
}


def _fields(message: Message, known: dict[int, Any]) -> dict[str, Any]:
    found = {}
    for field in message:
        if field.number in known:
            name, read = known[field.number]
            found[name] = read(message, field)
    return found


_USUAL = re.compile(rb"\n([\0-\x7F])(.*)\x15(.{4})(?:\x18([\0-\x7F]))?", re.DOTALL)
"""A piece as the library writes it: a short text, its score, and its kind, unless that is the usual one."""
_SCORE = struct.Struct("<f")


def _piece(message: Message) -> Piece:
    usual = _USUAL.fullmatch(message.data, message.start, message.end)
    if usual is not None and usual[1][0] == len(usual[2]):
        with suppress(UnicodeDecodeError):  # which is reported below
            return Piece(usual[2].decode(), _SCORE.unpack(usual[3])[0], usual[4][0] if usual[4] else NORMAL)
    text, score, kind = "", 0.0, NORMAL
    for field in message:
        if field.number == 1:
            text = message.text(field)
        elif field.number == 2:
            score = message.float(field)
        elif field.number == 3:
            kind = message.integer(field)
    return Piece(text, score, kind)

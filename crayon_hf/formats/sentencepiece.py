"""SentencePiece's ``.model`` files to ``tokenizer.json``, and pieces to ``.model`` files.

The ids are those of ``SentencePieceProcessor.encode(text)``: control pieces such as ``<s>`` are neither found in texts
nor put around them. A model does not say whether to add them, so the result has no post-processor; the config names
them, for the classes of transformers. The module `pieces` converts the other parts of a model.

Facts: sentencepiece_model.proto of SentencePiece 0.2 for the fields, the library's behaviour for their effect.
"""

from __future__ import annotations

import struct
from array import array
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted, Progress, written
from crayon_hf.formats.piece_models import keeps_single_precision, own_scores, raised_by, smallest_of
from crayon_hf.formats.piece_texts import needs_own
from crayon_hf.formats.pieces import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    PieceOptions,
    config_of,
    document_of,
    is_cut_by_much,
    is_marked,
)
from crayon_hf.formats.protobuf import Field, Message, field_bytes

_UNIGRAM = 1
_MODELS = {_UNIGRAM: "unigram", 2: "bpe", 3: "word", 4: "char"}


def read_sentencepiece(data: bytes, progress: Progress | None = None, *, opening: bool = False) -> Converted:
    """Read the vocabulary of a SentencePiece model.

    Raises VocabularyError if the file is damaged. Raises UnsupportedError if rules for decoded text affect each other,
    or if no ``tokenizer.json`` does what the library does. Set `opening` if the result is only compiled into a
    cartridge: our engine then runs the library's own steps, and `Converted.inexact` has the reason instead.
    """
    pieces: list[Piece] = []
    trainer: dict[str, Any] = {}
    normalizer: dict[str, Any] = {}
    denormalizer: dict[str, Any] = {}
    message = Message(data)
    for field in _fields_but_usual_pieces(data, pieces):
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
    kind = trainer.pop("model_type", _UNIGRAM)
    if kind not in _MODELS:
        raise VocabularyError(f"the model is of an unknown type ({kind})")
    ids = {"bos_id": 1, "eos_id": 2, "pad_id": -1}
    rules = denormalizer.pop("charsmap", b"")
    if rules and (len(denormalizer) < len(_NORMALIZER) - 1 or any(denormalizer.values())):
        raise UnsupportedError("changes of white space in decoded text (denormalizer_spec)")
    options = PieceOptions(**{**ids, **trainer, **normalizer}, decoded_charsmap=rules)
    missing: dict[str, str] = {}
    document = document_of(pieces, _MODELS[kind], options, progress, missing)
    config = config_of(pieces, options)
    # Greedy mode never gives these ids either; a tokenizer.json alone cannot express that.
    silent = [id for id, piece in enumerate(pieces) if piece.kind in (UNKNOWN, CONTROL, UNUSED)]
    if missing and not opening:
        raise UnsupportedError(
            f"{'; '.join(missing.values())}: no tokenizer.json does that. Tokenizer.from_file opens the model itself, "
            "and AutoTokenizer opens its directory as transformers converts it"
        )
    facts = _facts(pieces, _MODELS[kind], options, document, missing)
    return Converted(
        written(document),
        config,
        "sentencepiece",
        metadata={"control": silent},
        opened={"sentencepiece": facts} if facts else {},
        inexact="; ".join(missing.values()),
    )


def _facts(
    pieces: list[Piece], model: str, options: PieceOptions, document: dict[str, Any], missing: dict[str, str]
) -> dict[str, Any]:
    """The facts, besides the document, by which the engine works as the library does (docs/cartridge-format.md)."""
    facts: dict[str, Any] = {}
    user_defined = [piece.text for piece in pieces if piece.kind == USER_DEFINED]
    is_normalized = "normalizer" in missing or needs_own(options, user_defined)
    is_normalized = is_normalized or (model == "unigram" and is_marked(document))
    if model == "unigram":
        facts = {"model": model, "raised": raised_by(smallest_of(pieces))}
        if not keeps_single_precision(pieces, [score for _, score in document["model"]["vocab"]]):
            facts["scores"] = _packed(own_scores(pieces))
    elif "model" in missing or is_cut_by_much(document) or (is_normalized and is_marked(document)):
        facts = {"model": model}
        if model == "bpe":
            facts["scores"] = _packed(piece.score for piece in pieces)
    if is_normalized:
        facts["normalizer"] = {name: getattr(options, name) for name, _ in _NORMALIZER.values() if name != "charsmap"}
        facts["normalizer"]["treat_whitespace_as_suffix"] = options.treat_whitespace_as_suffix
    if facts:
        for name, kind in (("user_defined", USER_DEFINED), ("unused", UNUSED)):
            facts[name] = [id for id, piece in enumerate(pieces) if piece.kind == kind]
    if missing:
        facts["inexact"] = True
    return facts


def _packed(scores: Iterable[float]) -> str:
    return b64encode(array("f", scores).tobytes()).decode()


# Fields by number, with their names in PieceOptions.
_TRAINER = {
    3: ("model_type", Message.integer),
    24: ("treat_whitespace_as_suffix", Message.flag),
    35: ("byte_fallback", Message.flag),
    41: ("bos_id", Message.integer),
    42: ("eos_id", Message.integer),
    43: ("pad_id", Message.integer),
    44: ("unk_surface", Message.text),
}
_UNKNOWN_ID, _NAMES = 40, range(45, 49)
"""Fields that only the writer uses: the id of the unknown piece, and the texts of four special pieces."""
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


_SCORE = struct.Struct("<f")


def _fields_but_usual_pieces(data: bytes, pieces: list[Piece]) -> Iterator[Field]:
    """Yield the fields of a model except usual pieces, which this function appends to `pieces` itself.

    The caller appends the other pieces as it gets their fields, so all are in order.
    """
    at = 0
    while (at := _take_usual_pieces(data, at, pieces)) < len(data):
        field = next(iter(Message(data, at)))
        yield field
        at = field.end


def _take_usual_pieces(data: bytes, at: int, pieces: list[Piece]) -> int:
    """Take a run of pieces as the library writes them, and return the offset of the first other field.

    Such a piece is a text of less than 128 bytes, its score, and its kind, if that is not NORMAL. A model has tens of
    thousands of pieces; reading their fields one by one takes most of the time of reading the model.
    """
    with suppress(IndexError, UnicodeDecodeError):  # the end of the data, and an error that `_piece` reports
        while data[at] == data[at + 2] == _BYTES_OF_FIELD_1:
            size, length = data[at + 1], data[at + 3]
            after = at + 4 + length  # the text
            end = at + 2 + size
            if size > 127 or length > 127 or end > len(data) or data[after] != _FLOAT_OF_FIELD_2:
                break
            kind = NORMAL
            if size == length + 9 and data[after + 5] == _NUMBER_OF_FIELD_3 and data[after + 6] < 128:
                kind = data[after + 6]
            elif size != length + 7:
                break
            text = data[at + 4 : after].decode()
            pieces.append(Piece(text, _SCORE.unpack_from(data, after + 1)[0], kind))
            at = end
    return at


_BYTES_OF_FIELD_1, _FLOAT_OF_FIELD_2, _NUMBER_OF_FIELD_3 = 0x0A, 0x15, 0x18
"""The bytes that start these fields of a piece. The first also starts a piece."""


def _piece(message: Message) -> Piece:
    text, score, kind = "", 0.0, NORMAL
    for field in message:
        if field.number == 1:
            text = message.text(field)
        elif field.number == 2:
            score = message.float(field)
        elif field.number == 3:
            kind = message.integer(field)
    return Piece(text, score, kind)


def model_file(pieces: Sequence[Piece], model: str, options: PieceOptions) -> bytes:
    """A ``.model`` with these pieces: `read_sentencepiece` reads the same pieces, type and options."""
    parts = []
    for text, score, kind in pieces:
        known = b"" if kind == NORMAL else field_bytes(3, kind)
        parts.append(field_bytes(1, field_bytes(1, text) + field_bytes(2, float(score)) + known))
    says = options._asdict() | {"model_type": next(number for number, name in _MODELS.items() if name == model)}
    # The library finds these pieces by their texts.
    unknown = next((id for id, piece in enumerate(pieces) if piece.kind == UNKNOWN), -1)
    named = {"unk": unknown, "bos": options.bos_id, "eos": options.eos_id, "pad": options.pad_id}
    trainer = field_bytes(4, len(pieces)) + _written_fields(_TRAINER, says) + field_bytes(_UNKNOWN_ID, unknown)
    for number, id in zip(_NAMES, named.values(), strict=True):
        trainer += field_bytes(number, pieces[id].text) if id >= 0 else b""
    return b"".join([*parts, field_bytes(2, trainer), field_bytes(3, _written_fields(_NORMALIZER, says))])


def _written_fields(known: Mapping[int, Any], says: Mapping[str, Any]) -> bytes:
    return b"".join(field_bytes(number, says[name]) for number, (name, _) in known.items())

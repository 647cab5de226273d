"""Writes a vocabulary as a SentencePiece model."""

from __future__ import annotations

from array import array
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import partial
from math import isclose
from typing import Any, NamedTuple

from crayon_hf.errors import UnsupportedError
from crayon_hf.formats import piece_texts
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.export_parts import (
    Document,
    Exactness,
    Opened,
    document_of,
    frame_of,
    normalizers,
    opened_document,
    pre_tokenizers,
    reading,
    roles_of,
)
from crayon_hf.formats.export_pieces import (
    charsmap_of,
    check_bpe,
    check_unigram,
    check_user_defined,
    check_words,
    cut_out_by,
    kinds_of,
    merged_scores,
    spelling_of,
    without_cuts,
)
from crayon_hf.formats.piece_types import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Piece, PieceOptions
from crayon_hf.formats.sentencepiece import model_file, read_sentencepiece
from crayon_hf.tokenizer_json.document import ids_of, pair_of

_TARGET = "SentencePiece"
_USUAL = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}


class SentencePieceModel(NamedTuple):
    """A ``.model`` for the ``sentencepiece`` library."""

    data: bytes
    """The file."""
    pieces: int
    """The number of pieces; their ids are those of the vocabulary."""
    differences: tuple[str, ...]
    """The cases in which the library gives other ids; empty unless `inexact` is true."""


def to_sentencepiece(vocabulary: Converted | Opened, *, inexact: bool = False) -> SentencePieceModel:
    """Write a BPE or Unigram vocabulary over text as a SentencePiece model with the same ids.

    The ``sentencepiece`` library gives the same ids for texts without special tokens. Special tokens become control
    pieces, which the library never finds in text. The file does not contain the post-processor, truncation or padding.

    Args:
        vocabulary: An open `Tokenizer`, or the result of `crayon_hf.formats.convert`.
        inexact: Write the model even if the library gives other ids in some cases that are known. The result lists
            these cases.

    Returns:
        The bytes of the file, the number of pieces, and the cases in which the ids differ.

    Raises:
        UnsupportedError: A SentencePiece model cannot express a component of the tokenizer; the message names it.
        VocabularyError: The ``tokenizer.json`` is malformed.

    >>> vocab = {"<unk>": 0, "a": 1, "b": 2, "ab": 3}
    >>> bpe = crayon_hf.models.BPE(vocab, [("a", "b")], unk_token="<unk>", fuse_unk=True)
    >>> to_sentencepiece(crayon_hf.Tokenizer(bpe)).pieces
    4
    """
    converted, document = opened_document(vocabulary)
    exactness = Exactness(inexact)
    with reading():
        data, pieces = _model_of(converted, document, exactness)
    return SentencePieceModel(data, pieces, tuple(exactness.differences))


def _model_of(converted: Converted, document: Document, exactness: Exactness) -> tuple[bytes, int]:
    """Return the file and the number of its pieces."""
    kind = document["model"]["type"]
    if kind not in ("BPE", "Unigram"):
        raise UnsupportedError(f"a {kind} vocabulary: SentencePiece has BPE and Unigram over text")
    if any(step.get("type") == "ByteLevel" for step in pre_tokenizers(document)):
        raise UnsupportedError("the pre-tokenizer ByteLevel: SentencePiece has BPE over text, not over bytes")
    facts = {**converted.metadata, **converted.opened}.get("sentencepiece") or {}
    if facts:
        pieces, options = _of_own_model(converted, document, facts, exactness)
    else:
        pieces, options = (_of_bpe if kind == "BPE" else _of_unigram)(converted, document, exactness)
    if all(piece.kind != UNKNOWN for piece in pieces):
        raise UnsupportedError("a vocabulary without an unknown token: every SentencePiece model has one")
    bos, eos, pad = _named_ids(converted, document, pieces)
    has_bytes = bool(document["model"].get("byte_fallback"))
    options = options._replace(byte_fallback=has_bytes, bos_id=bos, eos_id=eos, pad_id=pad)
    data = model_file(pieces, facts.get("model", kind.lower()), options)
    if facts or cut_out_by(document, [piece.text for piece in pieces]):
        _check_read_again(data, document)
    return data, len(pieces)


def _of_bpe(converted: Converted, document: Document, exactness: Exactness) -> tuple[list[Piece], PieceOptions]:
    texts, kinds = kinds_of(converted, document)
    document, kinds, cut_out = without_cuts(document, texts, kinds)
    spelling = spelling_of(document, _TARGET, exactness, partial(piece_texts.normalizers, shielded=cut_out))
    check_bpe(document, texts, kinds, _TARGET)
    check_words(spelling, texts, kinds, _TARGET)
    check_user_defined(document, spelling.options, _TARGET)
    scores = merged_scores(document["model"], texts, kinds, (NORMAL,), _TARGET)
    return [Piece(*piece) for piece in zip(texts, scores, kinds, strict=True)], spelling.options


def _of_unigram(converted: Converted, document: Document, exactness: Exactness) -> tuple[list[Piece], PieceOptions]:
    exactness.differs(
        "the model Unigram: SentencePiece adds scores in single precision, and may choose another of two segmentations "
        "whose scores differ only by rounding"
    )
    texts, kinds = kinds_of(converted, document)
    spelling = spelling_of(document, _TARGET, exactness)
    scores = check_unigram(document, texts, kinds, exactness, _TARGET)
    check_words(spelling, texts, kinds, _TARGET)
    check_user_defined(document, spelling.options, _TARGET)
    return [Piece(*piece) for piece in zip(texts, scores, kinds, strict=True)], spelling.options


def _of_own_model(
    converted: Converted, document: Document, facts: Mapping[str, Any], exactness: Exactness
) -> tuple[list[Piece], PieceOptions]:
    """Return the pieces and options of a vocabulary that was read from a SentencePiece model.

    `facts` is the reader's record of the model, from the key ``sentencepiece`` of the metadata.
    """
    texts, kinds = kinds_of(converted, document)
    if len(texts) > len(document["model"]["vocab"]):
        raise UnsupportedError(f"added tokens that the SentencePiece model does not have, such as {texts[-1]!r}")
    for name, kind in (("user_defined", USER_DEFINED), ("unused", UNUSED)):
        for id in facts.get(name, ()):
            kinds[id] = kind
    cut_out = [texts[id] for id in facts.get("user_defined", ())]
    if "normalizer" in facts:
        options = PieceOptions(**facts["normalizer"], charsmap=charsmap_of(normalizers(document)))
    else:
        plain = document | ({"pre_tokenizer": None} if cut_out else {})
        options = spelling_of(plain, _TARGET, exactness, partial(piece_texts.normalizers, shielded=cut_out)).options
    if "scores" in facts:
        scores = array("f", b64decode(facts["scores"])).tolist()
    elif document["model"]["type"] == "Unigram":
        raised = facts["raised"]
        given = zip(document["model"]["vocab"], kinds, strict=True)
        scores = [score - raised * len(text) if kind == NORMAL else 0.0 for (text, score), kind in given]
    else:
        scores = merged_scores(document["model"], texts, kinds, (NORMAL, UNUSED), _TARGET)
    return [Piece(*piece) for piece in zip(texts, scores, kinds, strict=True)], options


def _check_read_again(data: bytes, document: Document) -> None:
    """Raise an UnsupportedError if our reader makes another tokenizer of the written model."""
    again = document_of(read_sentencepiece(data, opening=True))
    for name, steps in (("normalizer", normalizers), ("pre_tokenizer", pre_tokenizers)):
        if steps(again) != steps(document):
            raise UnsupportedError(f"the {name}: it differs from that of the SentencePiece model that was opened")
    if not _is_alike(again["model"], document["model"]):
        raise UnsupportedError("the model: it differs from that of the SentencePiece model that was opened")
    if again["added_tokens"] != [token for token in document["added_tokens"] if not token["special"]]:
        raise UnsupportedError("added tokens that are not special, which a SentencePiece model does not have")


def _is_alike(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two models are the same, up to the rounding of scores."""
    merges = [[*map(pair_of, model.get("merges") or [])] for model in (a, b)]
    if ids_of(a) != ids_of(b) or merges[0] != merges[1]:
        return False
    scores = [[row[1] for row in model["vocab"]] if isinstance(model["vocab"], list) else [] for model in (a, b)]
    flags = ("byte_fallback", "ignore_merges")
    return all(map(isclose, *scores)) and all(bool(a.get(flag)) == bool(b.get(flag)) for flag in flags)


def _named_ids(converted: Converted, document: Document, pieces: Sequence[Piece]) -> list[int]:
    """Return the ids of bos, eos and pad, with -1 for a missing token.

    The ``tokenizer_config.json`` names them; else bos and eos are the tokens that the post-processor puts around a
    text; else they have their usual names.
    """
    ids = {piece.text: id for id, piece in enumerate(pieces) if piece.kind == CONTROL}
    frame, roles = frame_of(document), roles_of(converted, document)
    framed = {"bos": frame.before[:1], "eos": frame.after[-1:]}
    found = [roles.get(role, (*framed.get(role, ()), ids.get(usual, -1))[0]) for role, usual in _USUAL.items()]
    return [id if id in ids.values() else -1 for id in found]

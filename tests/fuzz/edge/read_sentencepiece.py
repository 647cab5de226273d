"""Any bytes as a SentencePiece model: VocabularyError, or what encodes as the library does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from crayon_hf.formats.sentencepiece import read_sentencepiece
from tests.fuzz.edge import mutators
from tests.fuzz.edge.judging import PROBES, Defect, converted, judge_document

mutate = mutators.protobuf


def one_input(data: bytes) -> None:
    result = converted(read_sentencepiece, data)
    if result is None:
        return
    judge_document(result.tokenizer_json)
    # Of pieces that Unigram finds equally good the library takes one or another: docs/sources.md.
    if json.loads(result.tokenizer_json)["model"]["type"] == "BPE":
        _compare(data, result.tokenizer_json)


def _compare(data: bytes, document: bytes) -> None:
    import sentencepiece
    import tokenizers

    try:
        library = sentencepiece.SentencePieceProcessor(model_proto=data)
    except (RuntimeError, OSError):
        return  # more is asked of a model there than the pieces that are in use
    stock = tokenizers.Tokenizer.from_str(document.decode())
    for text in PROBES:
        ours, theirs = stock.encode(text, add_special_tokens=False).ids, library.encode(text)
        if ours != theirs:
            raise Defect(f"{text!a}: ours {ours}, sentencepiece {theirs}")


def seeds() -> Iterator[bytes]:
    """Small models of each kind."""
    yield from (_model(kind, changes) for kind in (1, 2, 4) for changes in range(4))


@cache
def _model(kind: int, changes: int) -> bytes:
    from sentencepiece import sentencepiece_model_pb2 as schema

    proto: Any = schema.ModelProto()  # type: ignore[attr-defined]
    pieces: list[tuple[str, float, int]] = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3)]
    if changes & 1:
        pieces += [(f"<0x{byte:02X}>", 0, 6) for byte in range(256)]
    letters = ("\u2581", "a", "b", "h", "e", "l", "o", "w", "r", "d", "\u00e9", "\u4f60")
    words = ("he", "ll", "llo", "hello", "\u2581w", "or", "\u2581wor", "ld") if kind != 4 else ()
    pieces += [(text, -float(rank), 1) for rank, text in enumerate((*words, *letters))]
    if changes & 2:
        pieces += [("<sep>", 0, 4), ("ab", 0, 4), ("ba", -1, 5)]
        proto.normalizer_spec.precompiled_charsmap = _charsmap()
    for text, score, what in pieces:
        proto.pieces.add(piece=text, score=score, type=what)
    proto.trainer_spec.model_type = kind
    proto.trainer_spec.byte_fallback = bool(changes & 1)
    proto.normalizer_spec.add_dummy_prefix = changes != 3
    proto.normalizer_spec.remove_extra_whitespaces = bool(changes & 2)
    return bytes(proto.SerializeToString())


def _charsmap() -> bytes:
    import base64

    from parity.components.parts import charsmap

    return base64.b64decode(charsmap({"\u00a0": " ", "\ufb01": "fi", "\u2460": "1"}))

"""Makes SentencePiece models: trained with the ``sentencepiece`` library, or of given pieces."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import pytest


def trained(sentences: Iterable[str], **options: Any) -> bytes:
    """Return the bytes of a model trained on `sentences`. `options` are those of SentencePieceTrainer."""
    import sentencepiece

    written = io.BytesIO()
    defaults: dict[str, Any] = {"hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=written, **{**defaults, **options}
    )
    return written.getvalue()


def model_of(pieces: Iterable[tuple[str, float, int]], model_type: int, **options: Any) -> bytes:
    """Return the bytes of a model with these pieces (text, score, kind). `options` are fields of its trainer or
    normalizer specification."""
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    for text, score, kind in pieces:
        proto.pieces.add(piece=text, score=score, type=kind)
    proto.trainer_spec.model_type = model_type
    for name, value in options.items():
        setattr(proto.trainer_spec if hasattr(proto.trainer_spec, name) else proto.normalizer_spec, name, value)
    data: bytes = proto.SerializeToString()
    return data

"""Trains SentencePiece models with the ``sentencepiece`` library."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any


def trained(sentences: Iterable[str], **options: Any) -> bytes:
    """Return the bytes of a model trained on `sentences`. `options` are those of SentencePieceTrainer."""
    import sentencepiece

    written = io.BytesIO()
    defaults: dict[str, Any] = {"hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=written, **{**defaults, **options}
    )
    return written.getvalue()

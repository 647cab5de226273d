"""Models of pieces as models of ``tokenizer.json``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Progress
from crayon_hf.formats.literals import any_of
from crayon_hf.formats.piece_merges import merges_of
from crayon_hf.formats.piece_types import NORMAL, SPACE, UNKNOWN, UNUSED, USER_DEFINED, Piece

Model = dict[str, Any]
_UNKNOWN_COSTS = 10
"""How much less than any piece an unknown character scores; SentencePiece and tokenizers agree."""


def bpe(
    pieces: Sequence[Piece], byte_fallback: bool, *, merging: bool = True, progress: Progress | None = None
) -> Model:
    """A BPE model; without `merging` only characters and user-defined pieces are found."""
    user_defined = [piece.text for piece in pieces if piece.kind == USER_DEFINED]
    scores: dict[str, float] = {}
    if merging:
        # What contains a user-defined piece is never made: that is cut out before.
        cut_out = re.compile(any_of(user_defined)) if user_defined else None
        for text, score, kind in pieces:
            joined = kind == NORMAL or (kind == UNUSED and len(text) > 1)
            if joined and (cut_out is None or not cut_out.search(text)):
                scores[text] = score
    unused = {piece.text for piece in pieces if piece.kind == UNUSED}
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": next((piece.text for piece in pieces if piece.kind == UNKNOWN), None),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": byte_fallback,
        "ignore_merges": any(len(text) > 1 for text in user_defined),
        "vocab": {piece.text: id for id, piece in enumerate(pieces)},
        "merges": merges_of(scores, unused, progress),
    }


def unigram(pieces: Sequence[Piece], byte_fallback: bool) -> Model:
    """A Unigram model. `piece_scores` says what becomes of the scores."""
    unknown = next((id for id, piece in enumerate(pieces) if piece.kind == UNKNOWN), None)
    scores = piece_scores(pieces)
    return {
        "type": "Unigram",
        "unk_id": unknown,
        "vocab": [[piece.text, score] for piece, score in zip(pieces, scores, strict=True)],
        "byte_fallback": byte_fallback,
    }


def piece_scores(pieces: Sequence[Piece]) -> list[float]:
    """Scores with which only normal and user-defined pieces are found, and unknown characters cost what they do.

    An unknown character has the smallest score of all normal pieces, less 10: of all pieces, in ``tokenizers``. A whole
    number is added for each character of a piece, the same for all pieces, so that every way to cut a text gains the
    same. It is large enough that the pieces that are not to be found can have the smallest score, and still are worse
    than their characters one by one, be all of them unknown.
    """
    normal = [piece.score for piece in pieces if piece.kind == NORMAL]
    if not normal:
        raise VocabularyError("the model has no normal piece")
    smallest = min(normal)
    raised = max(0, math.ceil(-smallest)) + 2 * _UNKNOWN_COSTS + 1
    scores = []
    for text, score, kind in pieces:
        if kind == NORMAL:
            scores.append(score + raised * len(text))
        elif kind == USER_DEFINED:
            # Always found, the longest that fits: measured with SentencePiece 0.2.3.
            scores.append(0.1 * (len(text.encode()) - 1) + raised * len(text))
        else:
            scores.append(smallest + raised)
    if min(scores) < smallest + raised:
        raise UnsupportedError(f"a user-defined piece that scores less than all pieces of the model ({smallest})")
    return scores


def words_are_apart(pieces: Sequence[Piece]) -> bool:
    """True if no piece goes on over a space, so that each word can be cut by itself."""
    found = [piece.text for piece in pieces if piece.kind in (NORMAL, USER_DEFINED)]
    # An unknown space would be one with unknown characters around it.
    return SPACE in found and not any(SPACE in text[1:] for text in found)

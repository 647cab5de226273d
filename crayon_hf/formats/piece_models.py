"""Makes the model of a ``tokenizer.json`` from the pieces of a SentencePiece model or a GGUF file."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Progress
from crayon_hf.formats.literals import any_of
from crayon_hf.formats.piece_merges import merges_of
from crayon_hf.formats.piece_types import NORMAL, SPACE, UNKNOWN, UNUSED, USER_DEFINED, Piece

Model = dict[str, Any]
UNKNOWN_COSTS = 10
"""The score of an unknown character is this much below the worst piece's, in SentencePiece and in tokenizers."""


def bpe(
    pieces: Sequence[Piece], byte_fallback: bool, *, merging: bool = True, progress: Progress | None = None
) -> Model:
    """Return a BPE model. Without `merging` it has no merges, and finds only characters and user-defined pieces."""
    user_defined = [piece.text for piece in pieces if piece.kind == USER_DEFINED]
    scores: dict[str, float] = {}
    if merging:
        # Merging never makes a piece that contains a user-defined piece, which is cut out before.
        cut_out = re.compile(any_of(user_defined)) if user_defined else None
        for text, score, kind in pieces:
            joined = kind == NORMAL or (kind == UNUSED and len(text) > 1)
            if joined and (cut_out is None or not cut_out.search(text)):
                scores[text] = score
    unused = {piece.text for piece in pieces if piece.kind == UNUSED}
    body = plain(pieces, "bpe", byte_fallback)
    body["ignore_merges"] = any(len(text) > 1 for text in user_defined)
    body["merges"] = merges_of(scores, unused, progress)
    return body


def plain(pieces: Sequence[Piece], model: str, byte_fallback: bool) -> Model:
    """The vocabulary alone, as a Unigram model or a BPE model without merges."""
    if model == "unigram":
        return unigram(pieces, byte_fallback)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": next((piece.text for piece in pieces if piece.kind == UNKNOWN), None),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": byte_fallback,
        "ignore_merges": False,
        "vocab": {piece.text: id for id, piece in enumerate(pieces)},
        "merges": [],
    }


def unigram(pieces: Sequence[Piece], byte_fallback: bool) -> Model:
    """A Unigram model, with the scores of `piece_scores`."""
    unknown = next((id for id, piece in enumerate(pieces) if piece.kind == UNKNOWN), None)
    scores = piece_scores(pieces)
    return {
        "type": "Unigram",
        "unk_id": unknown,
        "vocab": [[piece.text, score] for piece, score in zip(pieces, scores, strict=True)],
        "byte_fallback": byte_fallback,
    }


def piece_scores(pieces: Sequence[Piece], worst: float | None = None) -> list[float]:
    """Return scores with which the Unigram model of `tokenizers` gives SentencePiece's tokens.

    The two libraries differ in two things. SentencePiece finds only normal and user-defined pieces, and an unknown
    character scores 10 less than the worst normal piece. `tokenizers` finds every piece, and counts the worst piece of
    any type. `worst`, if given, is used instead of the score of the worst normal piece.

    Therefore every score is raised by one large number for each character of its piece. All ways to cut a text gain the
    same, so their order stays. A piece that must not be found gets the lowest score, raised only once. It loses to its
    characters, which are raised once each.
    """
    smallest = smallest_of(pieces) if worst is None else worst
    raised = raised_by(smallest)
    scores = []
    for text, score, kind in pieces:
        if kind == NORMAL:
            scores.append(score + raised * len(text))
        elif kind == USER_DEFINED:
            scores.append(_user_defined_score(text) + raised * len(text))
        else:
            scores.append(smallest + raised)
    if min(scores) < smallest + raised:
        raise UnsupportedError(f"a piece that scores less than the worst normal piece of the model ({smallest})")
    return scores


def raised_by(smallest: float) -> int:
    """The whole number that `piece_scores` adds for each character of a piece, given the smallest score."""
    return max(0, math.ceil(-smallest)) + 2 * UNKNOWN_COSTS + 1


def keeps_single_precision(pieces: Sequence[Piece], scores: Sequence[float]) -> bool:
    """Whether `scores`, made by `piece_scores`, less its added number equal SentencePiece's scores to the last bit."""
    raised, found = raised_by(smallest_of(pieces)), (NORMAL, USER_DEFINED)
    own = (score for score, piece in zip(own_scores(pieces), pieces, strict=True) if piece.kind in found)
    back = (score - raised * len(p.text) for score, p in zip(scores, pieces, strict=True) if p.kind in found)
    return array("f", own) == array("f", back)


def own_scores(pieces: Sequence[Piece]) -> list[float]:
    """SentencePiece's own scores of all pieces."""
    return [_user_defined_score(p.text) if p.kind == USER_DEFINED else p.score for p in pieces]


def smallest_of(pieces: Sequence[Piece]) -> float:
    """Return the worst score of a normal piece. Raises VocabularyError if no piece is normal."""
    normal = [piece.score for piece in pieces if piece.kind == NORMAL]
    if not normal:
        raise VocabularyError("the model has no normal piece")
    return min(normal)


def _user_defined_score(text: str) -> float:
    """The score with which SentencePiece 0.2.3 always finds a user-defined piece, the longest first."""
    return 0.1 * (len(text.encode()) - 1)


def words_are_apart(pieces: Sequence[Piece]) -> bool:
    """Whether no piece continues past a space, so that each word can be cut by itself."""
    found = [piece.text for piece in pieces if piece.kind in (NORMAL, USER_DEFINED)]
    # An unknown space would form one run with the unknown characters around it.
    return SPACE in found and not any(SPACE in text[1:] for text in found)

"""Pieces with scores and kinds, as SentencePiece models and GGUF files hold them, to ``tokenizer.json``.

The result gives the ids of ``SentencePieceProcessor.encode`` and the text of ``decode``, in stock ``tokenizers`` and
here:

- *Control pieces, the unknown piece and byte pieces* are in the vocabulary, but no text becomes one. They are not added
  tokens, which are looked for in every text.
- *User-defined pieces* are always found, anywhere. They are not added tokens either: the text beside an added token is
  normalized by itself, and would get its own prefix. For a BPE model a ``Split`` cuts them out, and each pretoken is
  looked up before it merges (``ignore_merges``). That lookup would find the other kinds, too, and pieces that merging
  never makes. So a pretoken that equals such a piece is cut once more (`cuts_of`).
- *Merges* are made from the pieces (`piece_merges`).
- *Scores of a Unigram model* are chosen so that only normal and user-defined pieces are found (`piece_scores`).

SentencePiece adds scores in single precision, ``tokenizers`` in double. Two ways to cut a text, such as ``a aa`` and
``aa a``, can score the same but for rounding. SentencePiece then takes one or the other, depending on the text before;
here it is always the same one.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Sequence
from typing import Any

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats import piece_models, piece_texts
from crayon_hf.formats.converted import Progress
from crayon_hf.formats.literals import LONGEST, any_of, literal, parts_of, several_of
from crayon_hf.formats.piece_types import (
    BYTE,
    CONTROL,
    NORMAL,
    SPACE,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Component,
    Piece,
    PieceOptions,
    replace,
)
from crayon_hf.tokenizer_json.parts import added_token, split, whole_document

__all__ = [
    "BYTE",
    "CONTROL",
    "NORMAL",
    "UNKNOWN",
    "UNUSED",
    "USER_DEFINED",
    "Piece",
    "PieceOptions",
    "config_of",
    "cuts_of",
    "document_of",
    "is_cut_by_much",
    "is_marked",
    "never_found",
]

Document = dict[str, Any]
_FOUND = (NORMAL, USER_DEFINED)
_UNSEEN = "\ufdd7"
"""A noncharacter, which no vocabulary contains."""


def document_of(
    pieces: Sequence[Piece],
    model: str,
    options: PieceOptions = PieceOptions(),  # noqa: B008 (immutable)
    progress: Progress | None = None,
    missing: dict[str, str] | None = None,
) -> Document:
    """The ``tokenizer.json`` of a model of pieces: ``"bpe"``, ``"unigram"`` or ``"char"`` (single characters only).

    Raises VocabularyError if the pieces contradict each other, and UnsupportedError if no ``tokenizer.json`` does what
    SentencePiece does with them. With `missing`, that dict gets the reason instead, under ``"normalizer"`` or
    ``"model"``, and the document has simpler components that give other ids.
    """
    _check(pieces, options)
    user_defined = [piece.text for piece in pieces if piece.kind == USER_DEFINED]
    splits: list[Component] = []
    unseen: dict[str, list[str]] = {}
    try:
        normalizers = piece_texts.normalizers(options, user_defined)
    except UnsupportedError as error:
        _note(missing, "normalizer", error)
        normalizers = piece_texts.rules_alone(options)
    body = piece_models.plain(pieces, model, options.byte_fallback)
    try:
        body, splits, unseen = _model_of(pieces, model, options, progress)
    except UnsupportedError as error:
        _note(missing, "model", error)
    if unseen and not options.byte_fallback:
        # With one more unknown character in it, a run stays one unknown piece, and spells no other piece.
        normalizers += (replace(pattern, _UNSEEN, regex=True) for pattern in _between(unseen))
    return whole_document(
        body,
        added_tokens=_added(pieces) if options.control_in_text else [],
        normalizer=piece_texts.sequence("normalizers", normalizers),
        pre_tokenizer=piece_texts.sequence("pretokenizers", splits),
        post_processor=piece_texts.around(
            _named(pieces, options.bos_id) if options.add_bos else None,
            _named(pieces, options.eos_id) if options.add_eos else None,
        ),
        decoder=piece_texts.decoder(pieces, options),
    )


def is_marked(document: Document) -> bool:
    """Whether the last normalizer inserts `_UNSEEN` between unknown characters."""
    normalizer = document["normalizer"] or {}
    last: Component = (normalizer.get("normalizers") or [normalizer])[-1]
    return last.get("content") == _UNSEEN


def is_cut_by_much(document: Document) -> bool:
    """Whether the pre-tokenizer has a pattern that is longer than the engine accepts."""
    splits = document["pre_tokenizer"] or {}
    patterns = (split.get("pattern", {}).get("Regex", "") for split in splits.get("pretokenizers") or [splits])
    return any(_bytes_of(pattern) > LONGEST for pattern in patterns)


def _note(missing: dict[str, str] | None, part: str, error: UnsupportedError) -> None:
    if missing is None:
        raise error
    missing[part] = str(error)


def _model_of(
    pieces: Sequence[Piece], model: str, options: PieceOptions, progress: Progress | None
) -> tuple[Document, list[Component], dict[str, list[str]]]:
    """Return the model, the splits before it, and pieces that runs of unknown characters must not spell.

    The last are the ends of these pieces, by their starts.
    """
    for text, _, kind in pieces:
        if len(text) == 1 and kind not in _FOUND:
            raise UnsupportedError(f"piece {text!r}, a single character that no text becomes")
    splits: list[Component] = []
    unseen: dict[str, list[str]] = {}
    if model == "unigram":
        body = piece_models.unigram(pieces, options.byte_fallback)
        unseen = _unknown_all_over(pieces, fused=not options.byte_fallback)
        if options.byte_fallback and unseen:
            splits = [split(pattern) for pattern in _between(unseen)]
        if options.escape_whitespaces and piece_models.words_are_apart(pieces):
            splits.append({"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": True})
    elif model in ("bpe", "char"):
        body = piece_models.bpe(pieces, options.byte_fallback, merging=model == "bpe", progress=progress)
        if body["ignore_merges"]:
            cuts, unseen = cuts_of(pieces, body)
            user_defined = any_of(piece.text for piece in pieces if piece.kind == USER_DEFINED)
            splits = [split(pattern) for pattern in (user_defined, *cuts)]
    else:
        raise UnsupportedError(f"a SentencePiece model of type {model!r}")
    return body, splits, unseen


def config_of(pieces: Sequence[Piece], options: PieceOptions) -> dict[str, Any]:
    """The ``tokenizer_config.json`` for these pieces."""
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": options.add_bos,
        "add_eos_token": options.add_eos,
        "clean_up_tokenization_spaces": False,
    }
    unknown = next((id for id, piece in enumerate(pieces) if piece.kind == UNKNOWN), -1)
    for name, id in (("bos", options.bos_id), ("eos", options.eos_id), ("unk", unknown), ("pad", options.pad_id)):
        if 0 <= id < len(pieces):
            config[f"{name}_token"] = pieces[id].text
    return config


def _check(pieces: Sequence[Piece], options: PieceOptions) -> None:
    seen: dict[str, int] = {}
    for id, (text, score, kind) in enumerate(pieces):
        if not text or "\0" in text:
            raise VocabularyError(f"piece {id} {'has a NUL character' if text else 'is empty'}")
        if seen.setdefault(text, id) != id:
            raise VocabularyError(f"pieces {seen[text]} and {id} are both {text!r}")
        if not NORMAL <= kind <= BYTE:
            raise VocabularyError(f"piece {id} ({text!r}) is of an unknown kind ({kind})")
        if not math.isfinite(score):
            raise VocabularyError(f"piece {id} ({text!r}) has the score {score}")
        if kind == BYTE and text not in _BYTES:
            raise VocabularyError(f"piece {id} ({text!r}) is marked as a byte, but is not of the form <0xNN>")
    unknown = [id for id, piece in enumerate(pieces) if piece.kind == UNKNOWN]
    if len(unknown) > 1:
        raise VocabularyError(f"pieces {unknown[0]} and {unknown[1]} are both the unknown piece")
    if options.byte_fallback and not seen.keys() >= _BYTES:
        raise VocabularyError("the model uses bytes for unknown characters, but does not have all 256 byte pieces")


_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))


def _named(pieces: Sequence[Piece], id: int) -> tuple[str, int]:
    if not 0 <= id < len(pieces):
        raise VocabularyError(f"the model puts piece {id} beside every text, but has only {len(pieces)} pieces")
    return pieces[id].text, id


def _added(pieces: Sequence[Piece]) -> list[Component]:
    return [added_token(id, piece.text) for id, piece in enumerate(pieces) if piece.kind in (CONTROL, UNKNOWN)]


def never_found(pieces: Sequence[Piece]) -> list[Component]:
    """Return normalizers for a Unigram model without byte fallback that break up runs of unknown characters.

    Without them a run could spell a piece of a kind that no text may become. Raises UnsupportedError if such a piece is
    one character and a part of a normal or user-defined piece.
    """
    found = {piece.text for piece in pieces if piece.kind in _FOUND}
    single = [piece.text for piece in pieces if len(piece.text) == 1 and piece.kind not in _FOUND]
    for char in single:
        if any(char in text for text in found):
            raise UnsupportedError(f"piece {char!r}, a single character that no text becomes")
    spelled = re.compile(any_of(single)) if single else None
    unseen = _unknown_all_over([piece for piece in pieces if not (spelled and spelled.search(piece.text))], fused=True)
    return [replace(pattern, _UNSEEN, regex=True) for pattern in (*several_of(single), *_between(unseen))]


def cuts_of(pieces: Sequence[Piece], model: dict[str, Any]) -> tuple[list[str], dict[str, list[str]]]:
    """Return patterns that cut a pretoken in two if it equals a piece that merging does not make.

    The pretoken then gets the ids that merging gives. Each pattern matches the text before the cut. A piece of unknown
    characters gets no pattern: such pieces are returned as well, as their ends by their first characters.
    """
    merging = _core.TextModel(json.dumps({**model, "ignore_merges": False}))
    vocab: dict[str, int] = model["vocab"]
    tokens = {piece.text: merging.tokenize(piece.text) for piece in pieces}
    found = {text for text, own in tokens.items() if [token[0] for token in own] == [vocab[text]]}
    lost = vocab.keys() - found
    cut: dict[str, list[str]] = {}
    unseen: dict[str, list[str]] = {}
    user_defined = [piece.text for piece in pieces if piece.kind == USER_DEFINED]
    cut_out = re.compile(any_of(user_defined))
    for text, _, kind in pieces:
        if kind == USER_DEFINED or text not in lost or cut_out.search(text):
            continue
        if len(tokens[text]) == 1:
            if any(piece[-1] == text[0] for piece in user_defined) and any(p[0] == text[1] for p in user_defined):
                raise UnsupportedError(f"piece {text!r}, which two user-defined pieces could spell between them")
            unseen.setdefault(text[0], []).append(text[1:])
            continue
        encoded = text.encode()
        places = {end for *_, (_, end) in tokens[text]} & {start for *_, (start, _) in tokens[text]}
        # A token of a single byte may end inside a character.
        for place in sorted(place for place in places if encoded[place] & 0xC0 != 0x80):
            before, after = encoded[:place].decode(), encoded[place:].decode()
            if before not in lost and after not in lost:
                cut.setdefault(before, []).append(after)
                break
        else:
            raise UnsupportedError(f"piece {text!r}, which would be found beside a user-defined piece")
    ways = [rf"{literal(before)}(?={some}\z)" for before, after in sorted(cut.items()) for some in several_of(after)]
    return [rf"\A(?:{'|'.join(part)})" for part in parts_of(ways, _bytes_of)], unseen


def _unknown_all_over(pieces: Sequence[Piece], fused: bool) -> dict[str, list[str]]:
    """Return the pieces that no text may become but that a run of unknown characters could spell, cut into two parts.

    The result has the ends of the pieces by their starts. No normal or user-defined piece (a found piece) covers the
    boundary. With `fused`, a run of unknown characters is one token, which a character inserted at the boundary only
    extends. A found piece may then end at the boundary on one side only.
    """
    found = {piece.text for piece in pieces if piece.kind in _FOUND}
    # A text with a found piece inside is not one run.
    lost = [piece.text for piece in pieces if piece.kind not in _FOUND and not _has_inside(piece.text, found)]
    chars = set("".join(lost))
    near = [piece for piece in found if not chars.isdisjoint(piece)]
    parts: dict[str, list[str]] = {}
    for text in lost:
        for at in range(1, len(text)):
            over, before, after = (
                any(_covers(piece, text, *place) for piece in near)
                for place in ((at - 1, at + 1), (at - 1, at), (at, at + 1))
            )
            if not over and not (fused and before and after):
                parts.setdefault(text[:at], []).append(text[at:])
                break
        else:
            raise UnsupportedError(f"piece {text!r}, whose characters are only parts of pieces that overlap it")
    return parts


def _between(parts: dict[str, list[str]]) -> list[str]:
    """Return patterns that match the boundaries between the two parts of pieces, given as ends by starts."""
    ways = [rf"(?<={literal(start)})(?={some})" for start, ends in parts.items() for some in several_of(ends)]
    return ["|".join(part) for part in parts_of(ways, _bytes_of)]


def _bytes_of(pattern: str) -> int:
    return len(pattern.encode())


def _has_inside(text: str, found: Collection[str]) -> bool:
    return any(text[a:b] in found for a, b in itertools.combinations(range(len(text) + 1), 2))


def _covers(piece: str, text: str, begin: int, end: int) -> bool:
    """Whether the piece can cover the characters from `begin` to `end` of the text, perhaps extending beyond it."""
    for shift in range(1 - len(piece), len(text)):
        low, high = max(0, shift), min(len(text), shift + len(piece))
        if low <= begin and end <= high and text[low:high] == piece[low - shift : high - shift]:
            return True
    return False

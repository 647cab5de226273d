"""The ``tokenizer.json`` of each kind of model that a GGUF file can hold, as llama.cpp runs it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.charsmap import rules_as_components
from crayon_hf.formats.converted import Progress
from crayon_hf.formats.gguf_patterns import GPT2, PreTokenizer
from crayon_hf.formats.gguf_tokens import Tokens
from crayon_hf.formats.piece_merges import merges_of
from crayon_hf.formats.piece_models import UNKNOWN_COSTS, piece_scores, words_are_apart
from crayon_hf.formats.piece_types import (
    BYTE,
    CONTROL,
    NORMAL,
    SPACE,
    UNDEFINED,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    replace,
)
from crayon_hf.formats.pieces import cuts_of, never_found
from crayon_hf.tokenizer_json.parts import BPE, byte_level, split, whole_document

Document = dict[str, Any]
Parts = dict[str, Any]

_ESCAPED = replace(" ", SPACE)
_UNESCAPED = replace(SPACE, " ")
_PREFIXED: Parts = {"type": "Prepend", "prepend": SPACE}
_JOINED: Parts = {"type": "Fuse"}
_NO_FIRST_SPACE: Parts = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
UNLIMITED = 2**53 - 1
"""The most characters of a word of model ``bert``: in effect no limit, as in llama.cpp."""
_LONGEST_JOINED = 1024
"""The most characters of a token joined from others. The work grows with their square; published tokens have 50."""


def byte_level_bpe(tokens: Tokens, merges: Sequence[str], pre: PreTokenizer) -> Document:
    """Model ``gpt2``: merges over bytes in the byte-level alphabet, or over text if the pre-tokenizer is for text."""
    vocab = {text: id for id, text in enumerate(tokens.texts)}
    pairs = _pairs(merges, vocab)
    cuts = [split(pattern) for pattern in pre.patterns]
    if pre.spaces_escaped:
        tokens.check_bytes()
        unknown = tokens.special.get("unk")
        model = _bpe(vocab, pairs, unknown=None if unknown is None else tokens.texts[unknown], byte_fallback=True)
        decoder = _sequence("decoders", [_UNESCAPED, {"type": "ByteFallback"}, _JOINED])
        if pre.lines_whole and (cut := _whole_lines(model, vocab)):
            model["ignore_merges"] = True
            cuts.append(split(cut))
        return _document(tokens, model, decoder, normalizer=_ESCAPED, pre_tokenizer=_sequence("pretokenizers", cuts))
    if pre.patterns == (GPT2,):
        pre_tokenizer = byte_level(use_regex=True)
    else:
        pre_tokenizer = _sequence("pretokenizers", [*cuts, byte_level(use_regex=False)])
    model = _bpe(vocab, pairs, ignore_merges=pre.ignore_merges)
    return _document(tokens, model, byte_level(use_regex=True), pre_tokenizer=pre_tokenizer)


def _whole_lines(model: Parts, vocab: Mapping[str, int]) -> str | None:
    """Return a pattern that cuts pretokens which ``ignore_merges`` would wrongly look up as tokens.

    The model needs ``ignore_merges`` for tokens of line breaks that merging does not make. Return None if merging
    makes all of them.
    """
    lines = {text: id for id, text in enumerate(text for text in vocab if not text.strip("\n"))}
    merges = [pair for pair in model["merges"] if not "".join(pair).strip("\n")]
    merging = _core.TextModel(json.dumps(_bpe(lines, merges)))
    if all(len(merging.tokenize(text)) == 1 for text in lines):
        return None
    pieces = [Piece(text, 0.0, USER_DEFINED if text in lines else NORMAL) for text in vocab]
    cuts, unknown = cuts_of(pieces, model)
    if unknown:
        raise UnsupportedError("runs of line breaks that no merges make, beside tokens of unknown characters")
    return "|".join(cuts) or r"(?!)"


def sentencepiece_bpe(tokens: Tokens, space_prefix: bool, progress: Progress | None) -> Document:
    """Model ``llama``: any two neighbours that make a token are joined, the best score first."""
    tokens.check_bytes()
    scores = tokens.scores or [0.0] * len(tokens.texts)
    # Tokens of other kinds are found before anything is joined. User-defined tokens that consist of escaped spaces can
    # be joined, too.
    joined = {
        text: score
        for text, score, kind in zip(tokens.texts, scores, tokens.kinds, strict=True)
        if kind in (UNDEFINED, NORMAL, UNUSED) or (kind == USER_DEFINED and SPACE in text)
    }
    longest = max(map(len, joined), default=0)
    if longest > _LONGEST_JOINED:
        raise UnsupportedError(f"a token of {longest} characters that is joined from others")
    pairs = merges_of(joined, (), progress)
    vocab = {text: id for id, text in enumerate(tokens.texts)}
    unknown = tokens.special.get("unk")
    model = _bpe(vocab, pairs, unknown=None if unknown is None else tokens.texts[unknown], byte_fallback=True)
    steps = [_UNESCAPED, {"type": "ByteFallback"}, _JOINED]
    if not space_prefix:
        return _document(tokens, model, _sequence("decoders", steps), normalizer=_ESCAPED)
    decoder = _sequence("decoders", [*steps, _NO_FIRST_SPACE])
    return _document(tokens, model, decoder, normalizer=_sequence("normalizers", [_PREFIXED, _ESCAPED]))


def unigram(tokens: Tokens, charsmap: bytes, space_prefix: bool, merge_spaces: bool) -> Document:
    """Model ``t5``: the best-scored way to cut a text."""
    unknown = tokens.id_of("unk", "a Unigram model")
    tokens.check_bytes()
    pieces, worst = _unigram_pieces(tokens)
    steps = rules_as_components(charsmap) if charsmap else []
    steps += unigram_spaces(space_prefix, merge_spaces)
    steps += never_found(pieces)
    words = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": True}
    of_bytes = [{"type": "ByteFallback"}] if BYTE in tokens.kinds else []
    decoders = [_UNESCAPED, *of_bytes, _JOINED, *([_NO_FIRST_SPACE] if space_prefix else [])]
    vocab = list(zip(tokens.texts, piece_scores(pieces, worst), strict=True))
    return _document(
        tokens,
        # llama.cpp gives the unknown token for unknown characters, even if the vocabulary has byte tokens.
        {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": False},
        _sequence("decoders", decoders),
        normalizer=_sequence("normalizers", steps),
        pre_tokenizer=words if words_are_apart(pieces) else None,
    )


def unigram_spaces(space_prefix: bool, merge_spaces: bool) -> list[Parts]:
    """Return the normalizers for spaces of model ``t5``. Arguments: write one before a text, drop extra ones."""
    if merge_spaces:
        return [replace(r"\A +| +\z", "", regex=True), replace(" +", SPACE, regex=True), _PREFIXED]
    # A text of nothing but spaces gets no prefix.
    return [replace(r"\A(?= *[^ ])", SPACE, regex=True), _ESCAPED] if space_prefix else [_ESCAPED]


def _unigram_pieces(tokens: Tokens) -> tuple[list[Piece], float]:
    """Return the tokens as pieces, and the worst score of a normal token. Tokens never found get the kind UNUSED.

    llama.cpp finds normal and unused tokens, and user-defined ones at no cost. It never chooses a token that scores
    lower than the token's characters would score as unknown characters.
    """
    scores = tokens.scores or [0.0] * len(tokens.texts)
    worst = min((score for score, kind in zip(scores, tokens.stated, strict=True) if kind == NORMAL), default=0.0)
    pieces = []
    for text, score, kind in zip(tokens.texts, scores, tokens.stated, strict=True):
        cost = 0.0 if kind == USER_DEFINED else score
        found = kind in (NORMAL, UNUSED, USER_DEFINED) and cost >= len(text) * (worst - UNKNOWN_COSTS)
        pieces.append(Piece(text, cost, NORMAL if found else UNUSED))
    return pieces, worst


def wordpiece(tokens: Tokens, lowercase: bool, strip_accents: bool) -> Document:
    """Model ``bert``: the longest token at each place of a word. Tokens that begin a word are written with U+2581."""
    spelled = [_spelled(text, kind) for text, kind in zip(tokens.texts, tokens.kinds, strict=True)]
    vocab = {text: id for id, text in enumerate(spelled)}
    if len(vocab) != len(spelled):
        raise UnsupportedError("two tokens with the same spelling, such as [x] and \u2581[x]")
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }
    model = {
        "type": "WordPiece",
        "unk_token": spelled[tokens.id_of("unk", "a WordPiece model")],
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": UNLIMITED,
        "vocab": vocab,
    }
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    return _document(
        tokens._replace(texts=spelled),
        model,
        decoder,
        normalizer=normalizer,
        pre_tokenizer={"type": "BertPreTokenizer"},
    )


def _spelled(text: str, kind: int) -> str:
    if kind in (CONTROL, UNKNOWN, USER_DEFINED) or (text.startswith("[") and text.endswith("]")):
        return text
    return text[1:] if text.startswith(SPACE) else "##" + text


def unspelled(text: str, kind: int) -> str:
    """Return the spelling of a WordPiece token in a GGUF file, where U+2581 marks the start of a word."""
    if kind in (CONTROL, UNKNOWN, USER_DEFINED) or (text.startswith("[") and text.endswith("]")):
        return text
    return text[2:] if text.startswith("##") else SPACE + text


def _pairs(merges: Sequence[str], vocab: dict[str, int]) -> list[tuple[str, str]]:
    pairs: dict[tuple[str, str], None] = {}
    for number, merge in enumerate(merges):
        cut = merge.find(" ", 1)
        left, right = merge[:cut], merge[cut + 1 :]
        if cut < 0 or left not in vocab or right not in vocab or left + right not in vocab:
            raise VocabularyError(
                f"merge {number} of the GGUF file, {merge[:80]!r}, is not of two tokens that make one"
            )
        pairs.setdefault((left, right))  # of two equal merges, the first counts
    return list(pairs)


def _bpe(
    vocab: dict[str, int],
    merges: list[tuple[str, str]],
    *,
    unknown: str | None = None,
    byte_fallback: bool = False,
    ignore_merges: bool = False,
) -> Parts:
    options = {"unk_token": unknown, "fuse_unk": unknown is not None}
    options |= {"byte_fallback": byte_fallback, "ignore_merges": ignore_merges}
    return {**BPE, **options, "vocab": vocab, "merges": merges}


def _document(
    tokens: Tokens, model: Parts, decoder: Parts, normalizer: Parts | None = None, pre_tokenizer: Parts | None = None
) -> Document:
    parts = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": decoder}
    return whole_document(model, added_tokens=list(tokens.added()), **parts)


def _sequence(name: str, steps: Sequence[Parts]) -> Parts:
    return {"type": "Sequence", name: list(steps)}

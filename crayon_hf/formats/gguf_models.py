"""The ``tokenizer.json`` of each kind of model that a GGUF file can hold, as llama.cpp runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.charsmap import rules_as_components
from crayon_hf.formats.converted import Progress
from crayon_hf.formats.gguf_patterns import GPT2, PreTokenizer
from crayon_hf.formats.gguf_tokens import Kind, Tokens
from crayon_hf.formats.piece_merges import merges_of

Document = dict[str, Any]
Parts = dict[str, Any]

_SPACE = "\u2581"
_ESCAPED: Parts = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
_UNESCAPED: Parts = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
_PREFIXED: Parts = {"type": "Prepend", "prepend": _SPACE}
_JOINED: Parts = {"type": "Fuse"}
_NO_FIRST_SPACE: Parts = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
_UNLIMITED = 2**53 - 1
_LONGEST_JOINED = 1024
"""Characters of a token that is joined from others; the work grows with their square. Published ones have some 50."""


def byte_level_bpe(tokens: Tokens, merges: Sequence[str], pre: PreTokenizer) -> Document:
    """Model ``gpt2``: merges over spelled bytes, or over text where the pre-tokenizer says so."""
    vocab = {text: id for id, text in enumerate(tokens.texts)}
    pairs = _pairs(merges, vocab)
    cuts = [_split(pattern) for pattern in pre.patterns]
    if pre.spaces_escaped:
        unknown = tokens.special.get("unk")
        model = _bpe(vocab, pairs, unknown=None if unknown is None else tokens.texts[unknown], byte_fallback=True)
        decoder = _sequence("decoders", [_UNESCAPED, {"type": "ByteFallback"}, _JOINED])
        return _document(tokens, model, decoder, normalizer=_ESCAPED, pre_tokenizer=_sequence("pretokenizers", cuts))
    if pre.patterns == (GPT2,):
        pre_tokenizer = _byte_level(use_regex=True)
    else:
        pre_tokenizer = _sequence("pretokenizers", [*cuts, _byte_level(use_regex=False)])
    model = _bpe(vocab, pairs, ignore_merges=pre.ignore_merges)
    return _document(tokens, model, _byte_level(use_regex=True), pre_tokenizer=pre_tokenizer)


def sentencepiece_bpe(tokens: Tokens, space_prefix: bool, progress: Progress | None) -> Document:
    """Model ``llama``: whatever two neighbours make a token is joined, the best score first."""
    scores = tokens.scores or [0.0] * len(tokens.texts)
    # The other kinds are found before anything is joined; but a user-defined token can be made of escaped spaces.
    joined = {
        text: score
        for text, score, kind in zip(tokens.texts, scores, tokens.kinds, strict=True)
        if kind in (Kind.UNDEFINED, Kind.NORMAL, Kind.UNUSED) or (kind == Kind.USER_DEFINED and _SPACE in text)
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
    scores = tokens.scores or [0.0] * len(tokens.texts)
    # No text becomes a token of the other kinds; they must not be the worst, from which the cost of unknown
    # characters is worked out.
    worst = min((score for score, kind in zip(scores, tokens.kinds, strict=True) if kind == Kind.NORMAL), default=0.0)
    vocab = [
        (text, 0.0 if kind == Kind.USER_DEFINED else score if kind in (Kind.NORMAL, Kind.UNUSED) else worst)
        for text, score, kind in zip(tokens.texts, scores, tokens.kinds, strict=True)
    ]
    steps: list[Parts] = []
    if charsmap:
        steps += rules_as_components(charsmap)
    if merge_spaces:
        steps += [_replace(r"\A +| +\z", ""), _replace(" +", _SPACE), _PREFIXED]
    else:
        # A text of nothing but spaces gets no prefix.
        steps += [_replace(r"\A(?= *[^ ])", _SPACE), _ESCAPED] if space_prefix else [_ESCAPED]
    # Cutting before each space changes nothing where no token goes on after one, and the space is a token itself.
    words = _SPACE in tokens.texts and not any(_SPACE in text[1:] for text in tokens.texts)
    pre_tokenizer = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "never", "split": True}
    decoders = [_UNESCAPED, _JOINED, *([_NO_FIRST_SPACE] if merge_spaces or space_prefix else [])]
    return _document(
        tokens,
        {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": False},
        _sequence("decoders", decoders),
        normalizer=_sequence("normalizers", steps),
        pre_tokenizer=pre_tokenizer if words else None,
    )


def wordpiece(tokens: Tokens, lowercase: bool, strip_accents: bool) -> Document:
    """Model ``bert``: the longest token at each place of a word. Tokens that begin a word are written with U+2581."""
    spelled = [_spelled(text, kind) for text, kind in zip(tokens.texts, tokens.kinds, strict=True)]
    vocab = {text: id for id, text in enumerate(spelled)}
    if len(vocab) != len(spelled):
        raise VocabularyError("the GGUF file has two tokens with the same spelling, such as [x] and \u2581[x]")
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
        "max_input_chars_per_word": _UNLIMITED,
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
    if kind in (Kind.CONTROL, Kind.UNKNOWN, Kind.USER_DEFINED) or (text.startswith("[") and text.endswith("]")):
        return text
    return text[1:] if text.startswith(_SPACE) else "##" + text


def _pairs(merges: Sequence[str], vocab: dict[str, int]) -> list[tuple[str, str]]:
    pairs: dict[tuple[str, str], None] = {}
    for number, merge in enumerate(merges):
        cut = merge.find(" ", 1)
        left, right = merge[:cut], merge[cut + 1 :]
        if cut < 0 or left not in vocab or right not in vocab or left + right not in vocab:
            raise VocabularyError(
                f"merge {number} of the GGUF file, {merge[:80]!r}, is not of two tokens that make one"
            )
        pairs.setdefault((left, right))  # of two that are the same, the first counts
    return list(pairs)


def _bpe(
    vocab: dict[str, int],
    merges: list[tuple[str, str]],
    *,
    unknown: str | None = None,
    byte_fallback: bool = False,
    ignore_merges: bool = False,
) -> Parts:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": unknown is not None,
        "byte_fallback": byte_fallback,
        "ignore_merges": ignore_merges,
        "vocab": vocab,
        "merges": merges,
    }


def _document(
    tokens: Tokens, model: Parts, decoder: Parts, normalizer: Parts | None = None, pre_tokenizer: Parts | None = None
) -> Document:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": list(tokens.added()),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": decoder,
        "model": model,
    }


def _sequence(name: str, steps: Sequence[Parts]) -> Parts:
    return {"type": "Sequence", name: list(steps)}


def _split(pattern: str) -> Parts:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _replace(pattern: str, content: str) -> Parts:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _byte_level(use_regex: bool) -> Parts:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}

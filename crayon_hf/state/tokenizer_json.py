"""Writing a ``tokenizer.json`` as the ``tokenizers`` library does, byte for byte, without giving it a vocabulary."""

from __future__ import annotations

import math
from typing import Any

from crayon_hf import _core
from crayon_hf.errors import VocabularyError
from crayon_hf.util.reference import reference_class

_TYPES = ("BPE", "WordPiece", "WordLevel", "Unigram")
_LARGE = ("vocab", "merges")
_LAST = {"Unigram": "byte_fallback", "WordLevel": "unk_token"}
"""What stands behind the vocabulary; all else stands before it."""
_ORDER = (
    *("truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"),
    "model",
)


def write(document: dict[str, Any], pretty: bool, source: bytes | None = None) -> bytes:
    """The bytes of a whole ``tokenizer.json``, in the library's order, with its defaults and without what it ignores.

    The model may be without its vocabulary: then that is the one of `source`, another ``tokenizer.json``.
    """
    small = without_vocabulary(document["model"])
    if source is None:
        source = dump({"model": document["model"]}).encode()
    texts = None
    if small.get("type") in _TYPES and not _has_tiny_float(small):
        texts = _core.model_text(source, pretty)
    if texts is None:
        whole = document | {"model": small | vocabulary_of(parsed(source)["model"])}
        return _through_the_library(whole, pretty).encode()
    import json

    vocab, merges = texts
    emptied: dict[str, Any] = {"vocab": [] if vocab.startswith(b"[") else {}}
    kept: dict[str, Any] = {"vocab": None}
    if merges is not None:
        emptied["merges"], kept["merges"] = [], None
    if "unk_id" in small:  # which no empty vocabulary has
        emptied["unk_id"], kept["unk_id"] = None, small["unk_id"]
    skeleton = json.loads(_through_the_library(document | {"added_tokens": [], "model": small | emptied}, False))
    written = skeleton | {"added_tokens": document["added_tokens"], "model": skeleton["model"] | kept}
    how: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    rest = json.dumps(written, ensure_ascii=False, **how).encode()
    parts = []
    for key, text in (("merges", merges), ("vocab", vocab)):
        if text is not None:
            # The last one is the model's: that is the last member, and has merges behind the vocabulary.
            rest, name, behind = rest.rpartition(f'"{key}": null'.encode() if pretty else f'"{key}":null'.encode())
            parts += [behind, text, name.removesuffix(b"null")]
    return b"".join(reversed([*parts, rest]))


def without_vocabulary(model: dict[str, Any]) -> dict[str, Any]:
    """A model's settings alone."""
    return {key: value for key, value in model.items() if key not in _LARGE}


def vocabulary_of(model: dict[str, Any]) -> dict[str, Any]:
    """What a model has besides its settings."""
    return {key: model[key] for key in _LARGE if key in model}


def ids_of(model: dict[str, Any]) -> dict[str, int]:
    """A model's vocabulary; that of a Unigram is a list, in the order of the ids."""
    vocab = model.get("vocab", {})
    return vocab if isinstance(vocab, dict) else {entry[0]: id for id, entry in enumerate(vocab)}


def dump(document: Any) -> str:
    """Compact JSON, with the escapes of the library. The scores of a Unigram model are spelled as `spell` does."""
    import json
    from json.encoder import encode_basestring as quoted

    def written(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    model = document.get("model") if isinstance(document, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), list):
        return written(document)
    entries = ",".join(f"[{quoted(token)},{spell(score)}]" for token, score in model["vocab"])
    before, _, after = written(document | {"model": model | {"vocab": None}}).rpartition('"vocab":null')
    return f'{before}"vocab":[{entries}]{after}'


def parsed(source: bytes) -> dict[str, Any]:
    """The JSON. Scores are those that the library reads, which need not be the nearest doubles."""
    import json

    document: dict[str, Any] = json.loads(source)
    if isinstance(document["model"].get("vocab"), list):
        document = json.loads(_core.json_normalize(source))
    return document


def exact(text: str) -> str:
    """The ``to_str`` of a living tokenizer, spelled so that the scores of a Unigram model are read as they are."""
    import json

    if '"type":"Unigram"' not in text:
        return text
    return dump(json.loads(text))


def spell(score: float) -> str:
    """A number so that every reader takes it for this very double, if there is such a spelling.

    The library scales the digits by a power of ten, and so reads one in four of the usual spellings as a neighbour of
    the double that was written. An integer that is a double itself, over a power of ten that is one, is rounded once by
    that reader and by all others. For a score of -30 to -0.001 there is one whenever its significand (from 1 to 2) is
    at most 1.8, as 10^16 has 1.11; beyond, it is missing for about one in a hundred, which then is a neighbour.
    """
    text = repr(score)
    if not math.isfinite(score) or as_the_library_reads(text) == score:
        return text
    for power in range(1, 23):
        whole = score * 10.0**power
        if abs(whole) >= 2.0**64:
            break
        for near in (float(round(whole)), math.nextafter(whole, math.inf), math.nextafter(whole, -math.inf)):
            if near.is_integer() and near / 10.0**power == score:
                return f"{int(near)}e-{power}"
    return text


def settled(score: float) -> float:
    """The score, or the nearest neighbour found that the library reads back as it was written."""
    while math.isfinite(score) and (read := as_the_library_reads(spell(score))) != score:
        score = read
    return score


def as_the_library_reads(text: str) -> float:
    """The double that the library takes the spelling of a number for: its digits, scaled by a power of ten.

    The nearest one, as in Python, for more than 19 digits and beyond 308 powers of ten.
    """
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    exponent = int(power or 0) - len(fraction)
    if abs(exponent) > 308 or len(whole + fraction) > 19:
        return float(text)
    digits = float(int(whole + fraction))
    value = digits * float(f"1e{exponent}") if exponent >= 0 else digits / float(f"1e{-exponent}")
    return -value if mantissa.startswith("-") else value


def _through_the_library(document: dict[str, Any], pretty: bool) -> str:
    if not hasattr(reference_class(), "to_str"):  # 1.0 writes none
        return _in_order(document, pretty)
    try:
        text: str = reference_class().from_str(dump(document)).to_str(pretty)
    except Exception as error:  # the library raises Exception itself
        raise VocabularyError(f"tokenizers does not open this tokenizer.json: {error}") from error
    return text


def _in_order(document: dict[str, Any], pretty: bool) -> str:
    import json

    ordered = {"version": "1.0"} | {name: document.get(name) for name in _ORDER}
    model: dict[str, Any] = document["model"]
    if (last := _LAST.get(model.get("type", ""))) in model:
        ordered["model"] = {name: value for name, value in model.items() if name != last} | {last: model[last]}
    how: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    return json.dumps(ordered, ensure_ascii=False, **how)


def _has_tiny_float(values: dict[str, Any]) -> bool:
    """Python and Rust write an exponent in two ways."""
    return any(isinstance(value, float) and "e" in repr(value) for value in values.values())

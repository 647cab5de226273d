"""Writes a ``tokenizer.json`` byte for byte as ``tokenizers`` does, without loading the vocabulary into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import VocabularyError
from crayon_hf.util.reference import reference_class

if TYPE_CHECKING:
    from crayon_hf.tokenizer_json.added_tokens import AddedTokens

_TYPES = ("BPE", "WordPiece", "WordLevel", "Unigram")
_LARGE = ("vocab", "merges")
_LAST = {"Unigram": "byte_fallback", "WordLevel": "unk_token"}
"""The member that the library writes after the vocabulary. All others come before it."""
NEAREST_SCORES = "nearest_scores"
"""An option of a Unigram model, only in cartridges: read scores as Python does (docs/cartridge-format.md)."""
_EMPTY_CHARSMAP = "AAAAAGNoYXJzbWFw"
"""A valid but empty charsmap, a placeholder while the library writes the other parts. No model has this text."""
_ORDER = (
    *("truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"),
    "model",
)


def write(document: dict[str, Any], pretty: bool) -> bytes:
    """Return the bytes of a ``tokenizer.json``, joined from `parts_of`."""
    return b"".join(parts_of(document, pretty))


def parts_of(
    document: dict[str, Any],
    pretty: bool,
    source: Callable[[], bytes] | None = None,
    engine: _core.Engine | None = None,
    added: AddedTokens | None = None,
) -> list[bytes]:
    """Return the bytes of a ``tokenizer.json`` in parts, with the library's order and defaults and no unknown members.

    The parts are not joined, because that would copy a large vocabulary and many added tokens.

    Args:
        document: The document. Its model may lack the vocabulary.
        pretty: Whether to indent.
        source: Returns a ``tokenizer.json`` that has the vocabulary, if `document` lacks it.
        engine: An engine with that vocabulary, if available.
        added: The added tokens, instead of those of `document`.
    """
    small = without_vocabulary(document["model"])
    read = source if source is not None else dump({"model": document["model"]}).encode
    texts = None
    if small.get("type") in _TYPES and not _has_tiny_float(small):
        vocab = None if engine is None or small["type"] == "BPE" else engine.vocabulary_json(pretty)
        texts = _core.model_text(read(), pretty) if vocab is None else (vocab, None)
    if texts is None:
        whole = document | {"model": small | vocabulary_of(parsed(read())["model"])}
        if added is not None:
            whole["added_tokens"] = added.for_json()
        return [_through_the_library(whole, pretty).encode()]
    import json

    vocab, merges = texts
    emptied: dict[str, Any] = {"vocab": [] if vocab.startswith(b"[") else {}}
    kept: dict[str, Any] = {"vocab": None}
    if merges is not None:
        emptied["merges"], kept["merges"] = [], None
    if "unk_id" in small:  # the library refuses an unk_id beyond the empty vocabulary
        emptied["unk_id"], kept["unk_id"] = None, small["unk_id"]
    charsmaps: list[str] = []
    emptied_document = document | {"added_tokens": [], "model": small | emptied}
    if engine is not None:  # opening the engine has validated the charsmaps
        emptied_document["normalizer"] = _without_charsmaps(document.get("normalizer"), charsmaps)
    skeleton = json.loads(_through_the_library(emptied_document, False))
    tokens = document["added_tokens"] if added is None else None
    written = skeleton | {"added_tokens": tokens, "model": skeleton["model"] | kept}
    how: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    rest = json.dumps(written, ensure_ascii=False, **how).encode()
    colon = b": " if pretty else b":"
    if charsmaps:
        member = b'"precompiled_charsmap"' + colon
        rest, *after = rest.split(b'%s"%s"' % (member, _EMPTY_CHARSMAP.encode()))
        for charsmap, behind in zip(charsmaps, after, strict=True):
            rest += b'%s"%s"%s' % (member, charsmap.encode(), behind)
    before = []
    if added is not None:
        # The first match is the document's member: only truncation and padding come before it.
        start, name, rest = rest.partition(b'"added_tokens"%snull' % colon)
        before = [start, name.removesuffix(b"null"), added.written(pretty)]
    parts = []
    for key, text in (("merges", merges), ("vocab", vocab)):
        if text is not None:
            # The last match is the model's: it is the last member, with merges after the vocabulary.
            rest, name, behind = rest.rpartition(b'"%s"%snull' % (key.encode(), colon))
            parts += [behind, text, name.removesuffix(b"null")]
    return [*before, rest, *reversed(parts)]


def _without_charsmaps(normalizer: Any, taken: list[str]) -> Any:
    """Replace the charsmaps of a normalizer, which may be large, with placeholders. `taken` receives them in order."""
    if not isinstance(normalizer, dict):
        return normalizer
    charsmap, parts = normalizer.get("precompiled_charsmap"), normalizer.get("normalizers")
    # The library reformats charsmaps of other lengths, and drops values of other types.
    if normalizer.get("type") == "Precompiled" and isinstance(charsmap, str) and len(charsmap) % 4 == 0:
        taken.append(charsmap)
        return normalizer | {"precompiled_charsmap": _EMPTY_CHARSMAP}
    if normalizer.get("type") == "Sequence" and isinstance(parts, list):
        return normalizer | {"normalizers": [_without_charsmaps(part, taken) for part in parts]}
    return normalizer


def without_vocabulary(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings, without vocabulary and merges."""
    return {key: value for key, value in model.items() if key not in _LARGE}


def vocabulary_of(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model's vocabulary and merges only."""
    return {key: model[key] for key in _LARGE if key in model}


def ids_of(model: dict[str, Any]) -> dict[str, int]:
    """Return a model's vocabulary as a dict. A Unigram model stores its vocabulary as a list in order of ids."""
    vocab = model.get("vocab", {})
    return vocab if isinstance(vocab, dict) else {entry[0]: id for id, entry in enumerate(vocab)}


def pair_of(merge: str | Sequence[str]) -> tuple[str, str]:
    """Return the two tokens of a merge. Old files spell a merge as one text."""
    pair = merge.split(" ") if isinstance(merge, str) else merge
    if len(pair) != 2:
        raise VocabularyError(f"the merge {merge!r} is not two tokens with a space between them")
    return pair[0], pair[1]


def library_ids(vocab: Mapping[str, int], contents: Iterable[str]) -> list[int]:
    """Return the ids that the library gives to added tokens, in the order of the file. It ignores the file's ids.

    A token of the model has the model's id. Others get the next free id.
    """
    known: dict[str, int] = {}
    following = len(vocab)
    for content in contents:
        id = known.setdefault(content, vocab.get(content, following))
        following = max(following, id + 1)
    return [known[content] for content in contents]


def dump(document: Any) -> str:
    """Return compact JSON with the library's escapes. `_core.spell_scores` spells the scores of a Unigram model."""
    import json
    from json.encoder import encode_basestring as quoted

    def written(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    model = document.get("model") if isinstance(document, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), list):
        return written(document)
    scores = _core.spell_scores([score for _, score in model["vocab"]])
    entries = ",".join(f"[{quoted(token)},{score}]" for (token, _), score in zip(model["vocab"], scores, strict=True))
    before, _, after = written(document | {"model": model | {"vocab": None}}).rpartition('"vocab":null')
    return f'{before}"vocab":[{entries}]{after}'


def parsed(source: bytes) -> dict[str, Any]:
    """Parse JSON. Scores are read as the library reads them, not always to the nearest double."""
    import json

    document: dict[str, Any] = json.loads(source)
    if isinstance(document["model"].get("vocab"), list):
        document = json.loads(_core.json_normalize(source))
    return document


def _through_the_library(document: dict[str, Any], pretty: bool) -> str:
    if not hasattr(reference_class(), "to_str"):  # 1.0 writes none
        return _in_order(document, pretty)
    try:
        text: str = reference_class().from_str(dump(document)).to_str(pretty)
    except Exception as error:  # the library raises plain Exception
        raise VocabularyError(f"tokenizers cannot open this tokenizer.json: {error}") from error
    return text


def _in_order(document: dict[str, Any], pretty: bool) -> str:
    import json

    from crayon_hf.tokenizer_json.described import completed

    ordered = {"version": "1.0"} | {name: completed(name, document.get(name)) for name in _ORDER}
    model = ordered["model"]
    if "merges" in model:
        kept = [merge for merge in model["merges"] if not (isinstance(merge, str) and merge.startswith("#version"))]
        ranks = {pair_of(merge): rank for rank, merge in enumerate(kept)}
        model["merges"] = sorted(ranks, key=ranks.__getitem__)
    if isinstance(model["vocab"], dict):
        model["vocab"] = dict(sorted(model["vocab"].items(), key=lambda entry: entry[1]))
    behind = ("max_input_chars_per_word", *_LARGE, _LAST.get(model.get("type", "")))
    ordered["model"] = {name: model[name] for name in model if name not in behind} | {
        name: model[name] for name in behind if name in model
    }
    how: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    return json.dumps(ordered, ensure_ascii=False, **how)


def _has_tiny_float(values: dict[str, Any]) -> bool:
    """Whether a float has an exponent, which Python and Rust write differently."""
    return any(isinstance(value, float) and "e" in repr(value) for value in values.values())

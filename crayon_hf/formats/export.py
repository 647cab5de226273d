"""Writes a vocabulary as ``tokenizer.json``, as tiktoken's ranks, or as a version 2 cartridge of CRAYON.

`export_sentencepiece` writes SentencePiece models, and `export_gguf` writes GGUF files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.export_parts import (
    Opened,
    added_tokens,
    check_ids,
    converted_of,
    document_of,
    pre_tokenizers,
    refuse_options,
)
from crayon_hf.formats.repository import as_the_library_writes
from crayon_hf.tokenizer_json.document import ids_of, pair_of
from crayon_hf.util.byte_level import unspell
from crayon_hf.util.lazy import lazy

if TYPE_CHECKING:
    from crayon_hf.formats.export_gguf import to_gguf
    from crayon_hf.formats.export_sentencepiece import to_sentencepiece

__all__ = [
    "CrayonV2",
    "Ranks",
    "count_tokens",
    "to_crayon_v2",
    "to_gguf",
    "to_sentencepiece",
    "to_tiktoken",
    "to_tokenizer_json",
]

__getattr__ = lazy(__name__, {name: f"crayon_hf.formats.export_{name[3:]}" for name in ("to_gguf", "to_sentencepiece")})


class Ranks(NamedTuple):
    """The arguments of a ``tiktoken.Encoding``."""

    data: bytes
    """The rank file."""
    pattern: str | None
    """The pattern that splits text; None if tiktoken needs more than a pattern to split it as the vocabulary does."""
    special_tokens: dict[str, int]


class CrayonV2(NamedTuple):
    """A version 2 cartridge of CRAYON and the ``.json`` file beside it."""

    cartridge: bytes
    companion: bytes
    """The ``.json`` file: the tokens' strings in order of id. Bytes that are not UTF-8 are lone surrogates."""
    keys: int
    """The number of tokens into which CRAYON can encode text."""


def to_tokenizer_json(vocabulary: Converted | Opened) -> bytes:
    """Return the ``tokenizer.json`` as the ``tokenizers`` library writes it."""
    if isinstance(vocabulary, Converted):
        written: bytes = as_the_library_writes(vocabulary.tokenizer_json)
        return written
    return vocabulary.to_str(pretty=True).encode()


def to_tiktoken(vocabulary: Converted | Opened) -> Ranks:
    """Return the ranks with which tiktoken gives the ids of a byte-level BPE vocabulary.

    tiktoken looks a whole pretoken up before it merges, and then joins the pair of lowest rank first. Raises
    UnsupportedError if the vocabulary's merges give other ids.
    """
    from crayon_hf.formats.tiktoken import write_ranks

    document = document_of(converted_of(vocabulary))
    model, added = document["model"], added_tokens(document)
    if model.get("type", "BPE") != "BPE" or not _is_byte_level(document):
        raise UnsupportedError("only a byte-level BPE vocabulary has ranks")
    refuse_options(model, ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"), "tiktoken")
    vocab = ids_of(model)
    ordinary = {token: id for token, id in vocab.items() if added.get(token) != id}
    ranks = {_from_byte_level(token): id for token, id in ordinary.items()}
    check_ids(ordinary)
    order = sorted((token for token in ranks if token), key=lambda token: ranks[token])
    _check_merges(order, model)
    return Ranks(write_ranks(ranks), _pattern(document), added)


def to_crayon_v2(vocabulary: Converted | Opened) -> CrayonV2:
    """Return the model's tokens as a longest-match cartridge over bytes.

    Tokens are spelled as the model sees text: with ``▁`` where a normalizer or a pre-tokenizer writes it for a space.
    Added tokens are only in the ``.json`` file, since CRAYON has no special tokens.
    """
    converted = converted_of(vocabulary)
    document = document_of(converted)
    known = converted.metadata.get("tokens") if converted.reference == "xerv-crayon" else None
    keys = {key: id for key, id in _keys(document).items() if known is None or id < known}
    trie = _core.build_double_array(sorted(keys.items()))
    strings = {id: content for content, id in added_tokens(document).items()}
    strings |= {id: key.decode("utf-8", "surrogateescape") for key, id in keys.items()}
    size = max([max(strings, default=-1) + 1, known or 0])
    companion = json.dumps([strings.get(id, "") for id in range(size)])
    return CrayonV2(_core.write_cartridge_v2(*trie), companion.encode(), len(keys))


def count_tokens(converted: Converted) -> int:
    """Return the number of tokens, added ones included."""
    document = document_of(converted)
    return len({**ids_of(document["model"]), **added_tokens(document)})


def _is_byte_level(document: Mapping[str, Any]) -> bool:
    """Whether the last step before the model spells bytes."""
    return bool(pre_tokenizers(document)) and pre_tokenizers(document)[-1].get("type") == "ByteLevel"


def _from_byte_level(token: str) -> bytes:
    data = unspell(token)
    if data is None:
        char = next(char for char in token if unspell(char) is None)
        raise UnsupportedError(f"token {token!r} does not spell bytes: {char!r} represents no byte")
    return data


# -- tiktoken


def _check_merges(order: list[bytes], model: Mapping[str, Any]) -> None:
    """Prove that the merges give the same tokens as the ranks, or raise an UnsupportedError.

    ``rank_merges.h`` proves that tiktoken makes each token from the same pair in every text. If the merges contain the
    pair of every token, in the order of the tokens' ranks, then tiktoken and the merges pick the same pair at every
    step. The merges may contain other pairs for a token, such as all ways to split it. These pairs never have the
    lowest rank.
    """
    try:
        joined = _core.merges_from_ranks(order)
    except VocabularyError as error:
        raise UnsupportedError(f"tiktoken needs a token for each byte: {error}") from error
    rank = {token: i for i, token in enumerate(order)}
    merges = [_pair(merge) for merge in model.get("merges") or []]
    highest = 0
    for left, right in merges:
        made = rank.get(left + right, -1)
        if made < highest:
            after = f"after {order[highest]!r}, whose id is higher" if made >= 0 else "which has no id"
            raise UnsupportedError(f"the merges are not in the order of the ids: one makes {left + right!r}, {after}")
        highest = made
    known = set(merges)
    for first, second, product in joined:
        if (order[first], order[second]) not in known:
            pair = f"{order[first]!r} and {order[second]!r}"
            raise UnsupportedError(f"tiktoken would join {pair} to {order[product]!r}, but no merge does")
    if not model.get("ignore_merges"):
        reached = {product for _, _, product in joined}
        whole = next((token for i, token in enumerate(order) if len(token) > 1 and i not in reached), None)
        if whole is not None:
            raise UnsupportedError(f"no merge makes the token {whole!r}, but tiktoken would give it for a whole piece")


def _pair(merge: Any) -> tuple[bytes, bytes]:
    left, right = pair_of(merge)
    return _from_byte_level(left), _from_byte_level(right)


def _pattern(document: Mapping[str, Any]) -> str | None:
    """Return a pattern with which tiktoken splits text as the vocabulary's pre-tokenizer does, or None."""
    *steps, last = pre_tokenizers(document)
    if document.get("normalizer") or last.get("add_prefix_space", True):
        return None
    if last.get("use_regex", True):
        family = None if steps else "gpt2"
    elif len(steps) == 1 and steps[0].get("type") == "Split":
        how = steps[0].get("behavior"), bool(steps[0].get("invert"))
        pattern = steps[0].get("pattern")
        text = pattern.get("Regex") if isinstance(pattern, dict) else None
        if not text or how != ("Isolated", False):
            return None
        if _core.is_read_alike(text):
            return str(text)
        family = _core.family_of_pattern(text, "oniguruma")
    else:
        family = None
    if family is None:
        return None
    spelled: str = _core.canonical_pattern(family)
    return spelled if _core.family_of_pattern(spelled, "rust_regex") == family else None


# -- version 2


def _keys(document: Mapping[str, Any]) -> dict[bytes, int]:
    model, added = document["model"], added_tokens(document)
    kind = model.get("type", "BPE")
    if kind == "WordLevel":
        raise UnsupportedError("a WordLevel vocabulary has whole words, which no longest match gives")
    for option in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(option):
            raise UnsupportedError(
                f"the vocabulary has {option} {model[option]!r}: the meaning of a token depends on its place"
            )
    is_byte_level = _is_byte_level(document)
    keys: dict[bytes, int] = {}
    for token, id in ids_of(model).items():
        if is_byte_level and added.get(token) == id:
            continue  # spelled as text, not in the byte-level alphabet
        key = _from_byte_level(token) if is_byte_level else token.encode()
        if key:
            keys[key] = id
    check_ids(keys)
    return keys

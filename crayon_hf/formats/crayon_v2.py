"""CRAYON's version 2 cartridges (a ``.dat``, and beside it a ``.json`` of the tokens' strings) to ``tokenizer.json``.

CRAYON (the library ``xerv-crayon``) cuts a text into the longest tokens of its vocabulary, over bytes. Stock
``tokenizers`` does the same with the result: WordPiece without prefixes, for which the whole text is one word in the
byte-level alphabet. CRAYON loses a byte that begins no token: it gives id 1, the id of another token. Here such bytes
get new ids after CRAYON's last id, so every text round-trips. The metadata keeps CRAYON's number of ids. Callers that
want CRAYON's ids replace higher ids with 1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted, written
from crayon_hf.tokenizer_json.parts import byte_level, parsed, whole_document
from crayon_hf.util.byte_level import spell

UNKNOWN = 1
"""The id that CRAYON gives for an unknown byte."""

_MOST_IDS = 1 << 24
_NO_LIMIT = 2**53 - 1  # the largest count that every reader of JSON takes


def read_crayon_v2(data: bytes, tokens: Sequence[str] | None) -> Converted:
    """Read a version 2 cartridge. `tokens` are the strings of the ``.json`` beside it, by id (`read_companion`).

    The strings are checked against the cartridge's keys, and their number is the number of ids. An id without a key
    gets no token, since CRAYON never gives it: its string is a duplicate, or begins with NUL and was dropped by CRAYON.
    """
    keys = [(key, id) for key, id in _core.list_double_array(*_core.read_cartridge_v2(data)) if key]
    if not keys:
        raise VocabularyError("the version 2 cartridge has no tokens")
    by_id: dict[int, bytes] = {}
    for key, id in keys:
        if by_id.setdefault(id, key) != key:
            raise UnsupportedError(f"tokens {by_id[id]!r} and {key!r}, which have the same id ({id})")
    if tokens is not None:
        _check(by_id, tokens)
    count = max(max(by_id) + 1, len(tokens or ()))
    if count > _MOST_IDS:
        raise UnsupportedError(f"an id of {count - 1}, too large: tokenizers would go through all ids up to it")
    single = {key[0] for key in by_id.values() if len(key) == 1}
    missing = [bytes([byte]) for byte in range(256) if byte not in single]
    by_id |= dict(enumerate(missing, count))
    vocab = {spell(by_id[id]): id for id in sorted(by_id)}
    unknown = spell(by_id.get(UNKNOWN, by_id[min(by_id)]))  # never used: every byte has a token
    return Converted(longest_match(vocab, unknown), {}, "xerv-crayon", metadata=MappingProxyType({"tokens": count}))


def read_companion(data: bytes) -> list[str]:
    """Return the strings in the ``.json`` beside a cartridge, by id.

    The file is a list of strings, or an object whose ``vocab`` maps strings to ids.
    """
    value = parsed(data, "the .json beside the version 2 cartridge")
    tokens = _from_object(value["vocab"]) if isinstance(value, dict) and "vocab" in value else value
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise VocabularyError("the .json beside the version 2 cartridge is not a list of strings")
    return tokens


def companion_of(path: str) -> str | None:
    """Return the path of the ``.json`` beside a cartridge, or None if it does not exist."""
    beside = os.path.splitext(path)[0] + ".json"
    return beside if beside != path and os.path.isfile(beside) else None


def bytes_of(string: str) -> bytes | None:
    """The bytes of a string in the ``.json`` beside a cartridge, or None if the string spells no bytes.

    CRAYON's strings are text. crayon-hf also writes tokens that are not UTF-8, with lone surrogates U+DC80 to U+DCFF
    for their bytes, as Python's ``surrogateescape`` does.
    """
    try:
        return string.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _from_object(vocab: Any) -> list[str]:
    if not isinstance(vocab, dict) or not all(type(id) is int and 0 <= id < 2**31 for id in vocab.values()):
        raise VocabularyError('the .json beside the version 2 cartridge has a "vocab" that does not map strings to ids')
    size = max(vocab.values(), default=-1) + 1
    if size > _MOST_IDS:
        raise VocabularyError(f"the .json beside the version 2 cartridge has {len(vocab)} tokens and an id {size - 1}")
    tokens = [""] * size
    for string, id in vocab.items():
        tokens[id] = string
    return tokens


def _check(by_id: dict[int, bytes], tokens: Sequence[str]) -> None:
    for id, key in sorted(by_id.items()):
        if id >= len(tokens):
            raise VocabularyError(
                f"the .json beside the version 2 cartridge has {len(tokens)} tokens, and {key!r} has id {id}"
            )
        if bytes_of(tokens[id]) != key:
            raise VocabularyError(
                f"the .json beside the version 2 cartridge belongs to another vocabulary: id {id} is {tokens[id]!r} "
                f"there, and {key!r} in the cartridge"
            )


def longest_match(vocab: dict[str, int], unknown: str) -> bytes:
    """Return the ``tokenizer.json`` that cuts text into the longest byte-level tokens.

    `unknown` is the required unknown token. No text becomes it, since all bytes are tokens.
    """
    model = {
        "type": "WordPiece",
        "unk_token": unknown,
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": _NO_LIMIT,
        "vocab": vocab,
    }
    decoder = byte_level(add_prefix_space=True, use_regex=True)
    document: bytes = written(whole_document(model, pre_tokenizer=byte_level(), decoder=decoder))
    return document
